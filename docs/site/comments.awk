# The sources have plain comments (//). For doxygen: the first ones are about the file, others about what follows them, and
# those behind a declaration about that. What would be a command or a tag is text.
function plain(text) {
  gsub(/[\\@<>&#%$"]/, "\\\\&", text)
  return text
}
NR == 1 && /^\/\// { print "/// \\file" }
/^[ \t]*\/\// {
  match($0, /^[ \t]*\/\//)
  indent = substr($0, 1, RLENGTH)
  rest = substr($0, RLENGTH + 1)
  print indent "/" plain(rest)
  next
}
/[;,{}]([ \t])+\/\/ / {
  at = match($0, /[ \t]\/\/ /)
  code = substr($0, 1, at)
  # a declaration that ends here; not a comment inside an inline body
  if (code ~ /[;,][ \t]*$/ && code !~ /(return|if|for|while) / && code !~ /[ \t]*[a-z_.]+(\(.*\))? [-+*]?= .*\(/) {
    print code "///<" plain(substr($0, at + 3))
    next
  }
}
{ print }

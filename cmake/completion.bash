# bash completion of dodyn: commands, files, and the keys that the program itself lists.
_dodyn() {
  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} program=${COMP_WORDS[0]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "$("$program" --help 2>/dev/null | sed -n 's/^  dodyn \([a-z][a-z]*\) .*/\1/p' | sort -u)" -- "$word")
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$({ "$program" "$command" --help; "$program" "$command" --help | grep -q -- '--key value' && "$program" help keys; } 2>/dev/null | grep -oE -- '--[a-z][a-z0-9.-]*' | sort -u)" -- "$word")
  else
    compopt -o default 2>/dev/null
  fi
}
complete -F _dodyn dodyn

// Counts heap allocations, to assert that a hot loop makes none. Include it in one source file of a test program: it
// replaces malloc, which operator new and Eigen call, or operator new alone if malloc cannot be replaced.
#pragma once

#include <cstdlib>
#include <new>

inline long allocations = 0;

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" void* __libc_malloc(std::size_t size);
extern "C" [[gnu::noinline]] void* malloc(std::size_t size) noexcept {
  ++allocations;
  return __libc_malloc(size);
}
#else
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
#endif

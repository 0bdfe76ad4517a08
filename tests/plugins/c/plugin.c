// `slug`: makes the part of an address of a title: lower-case letters and digits, with one dash between words.
#include "svc_plugin.h"

static int is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

static svc_result slug(svc_text input) {
  static const char member[] = "\"text\"";
  const size_t opening = sizeof member - 1;
  size_t at = 0;
  while (at + opening <= input.length && memcmp(input.start + at, member, opening) != 0) at++;
  at += opening;
  while (at < input.length && input.start[at] != '"') at++;
  char *made = malloc(input.length + 2);
  if (made == NULL) __builtin_trap();
  size_t length = 0;
  made[length++] = '"';
  // An escape is of no word, so its letter is skipped too.
  for (at++; at < input.length && input.start[at] != '"'; at++) {
    char c = input.start[at];
    if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
    if (is_word(c)) made[length++] = c;
    else if (made[length - 1] != '-' && length > 1) made[length++] = '-';
    if (c == '\\') at++;
  }
  if (made[length - 1] == '-') length--;
  if (length == 1) return svc_error("EMPTY_SLUG", SVC_INPUT, "the text has no letter and no digit");
  made[length++] = '"';
  return svc_value((svc_text){made, length});
}

static svc_result invoke(svc_text function, svc_text input) {
  if (function.length == 4 && memcmp(function.start, "slug", 4) == 0) return slug(input);
  return svc_error("NO_SUCH_FUNCTION", SVC_INTERNAL, "the component has no such function");
}

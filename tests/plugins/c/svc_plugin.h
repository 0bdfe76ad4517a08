// The world svc:plugin@1.0.0 for a guest in C: its one export, and what the canonical ABI wants around it.
//
// A guest defines `invoke`. Texts are UTF-8 and not ended by a zero. An instance lives for one call, so nothing is
// freed.
#ifndef SVC_PLUGIN_H
#define SVC_PLUGIN_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char *start;
  size_t length;
} svc_text;

enum svc_error_class { SVC_INPUT = 0, SVC_INTERNAL = 1 };

// `result<string, error>` as it lies in memory.
typedef struct {
  uint8_t is_error;
  union {
    svc_text value;
    struct {
      svc_text code;
      uint8_t class;
      svc_text message;
    } error;
  };
} svc_result;

// Calls a function of the manifest by its name there; `input` is the text of a JSON object.
static svc_result invoke(svc_text function, svc_text input);

static inline svc_text svc_literal(const char *text) { return (svc_text){(char *)text, strlen(text)}; }

static inline svc_result svc_value(svc_text value) { return (svc_result){.is_error = 0, .value = value}; }

static inline svc_result svc_error(const char *code, enum svc_error_class class, const char *message) {
  return (svc_result){.is_error = 1, .error = {svc_literal(code), class, svc_literal(message)}};
}

__attribute__((export_name("cabi_realloc"))) void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size) {
  (void)old_size;
  void *made = size == 0 ? (void *)align : realloc(old, size);
  if (made == NULL) __builtin_trap();
  return made;
}

__attribute__((export_name("svc:plugin/functions@1.0.0#invoke"))) svc_result *
svc_invoke(char *function, size_t function_length, char *input, size_t input_length) {
  static svc_result result;
  result = invoke((svc_text){function, function_length}, (svc_text){input, input_length});
  return &result;
}

#endif

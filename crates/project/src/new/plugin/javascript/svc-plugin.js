// What a plugin in JavaScript needs: its functions by name, and errors with a code.

/** The error of a function. With the class "input" the caller's input is to blame, with "internal" anything else. */
export class PluginError extends Error {
  constructor(code, message, errorClass = "input") {
    super(message);
    this.code = code;
    this.errorClass = errorClass;
  }
}

/**
 * Makes the export of a plugin of its functions. Each takes the inputs of a task as an object, and returns a value that
 * JSON can hold.
 */
export function plugin(functions) {
  return {
    invoke(name, input) {
      if (!Object.hasOwn(functions, name)) {
        throw { code: "NO_SUCH_FUNCTION", class: "internal", message: `the component has no function ${name}` };
      }
      try {
        return JSON.stringify(functions[name](JSON.parse(input)) ?? null);
      } catch (error) {
        throw describe(error);
      }
    },
  };
}

function describe(error) {
  if (error instanceof PluginError) {
    return { code: error.code, class: error.errorClass, message: error.message };
  }
  return { code: "EXCEPTION", class: "internal", message: String(error) };
}

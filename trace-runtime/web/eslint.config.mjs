// All files of the page are one script: what a file declares, the others use. `tsc` checks names and types.
export default [
  {
    files: ["*.js"],
    languageOptions: { ecmaVersion: 2023, sourceType: "script" },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      "no-control-regex": "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-misleading-character-class": "error",
      "no-restricted-properties": [
        "error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML", "write", "writeln"].map((property) => ({
          property,
          message: "names are text: build elements with `h` and `s`",
        })),
      ],
      "no-restricted-globals": ["error", "fetch", "XMLHttpRequest", "WebSocket", "EventSource", "Worker"],
      "no-var": "error",
      "prefer-const": "error",
    },
  },
];

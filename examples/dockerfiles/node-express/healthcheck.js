fetch("http://127.0.0.1:3000/health").then(
  (answer) => process.exit(answer.ok ? 0 : 1),
  () => process.exit(1),
);

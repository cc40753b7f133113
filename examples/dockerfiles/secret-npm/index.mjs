import isNumber from "is-number";

for (const text of process.argv.slice(2)) console.log(text, isNumber(text));

const values: Record<string, number> = { I: 1, V: 5, X: 10, L: 50, C: 100, D: 500, M: 1000 };

export function fromRoman(text: string): number {
  let total = 0;
  for (let i = 0; i < text.length; i++) {
    const value = values[text[i] ?? ""];
    if (value === undefined) throw new RangeError(`'${text}' is no Roman number`);
    total += value < (values[text[i + 1] ?? ""] ?? 0) ? -value : value;
  }
  return total;
}

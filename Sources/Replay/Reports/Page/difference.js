// Marks in each of two texts what the other lacks, by their longest common subsequence of words.
"use strict";
const words = text => text.match(/\p{L}[\p{L}\p{M}\p{N}]*|\p{N}+|\s+|./gsu) || [];

// [kept, text] pieces for the old and for the new text.
function difference(before, after) {
  const a = words(before), b = words(after);
  let start = 0, end = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const x = a.slice(start, a.length - end), y = b.slice(start, b.length - end);
  const keptX = new Uint8Array(x.length), keptY = new Uint8Array(y.length);
  // A larger table would take too much memory; then everything between the common ends is marked.
  if (x.length * y.length <= 1000000) {
    const width = y.length + 1, table = new Uint16Array((x.length + 1) * width);
    for (let i = x.length - 1; i >= 0; i--)
      for (let j = y.length - 1; j >= 0; j--)
        table[i * width + j] = x[i] === y[j] ? table[(i + 1) * width + j + 1] + 1
          : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    for (let i = 0, j = 0; i < x.length && j < y.length;) {
      if (x[i] === y[j]) { keptX[i++] = 1; keptY[j++] = 1; }
      else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) i++;
      else j++;
    }
  }
  const pieces = (all, middle, kept) => {
    const list = [];
    const add = (isKept, text) => {
      const last = list[list.length - 1];
      if (last && last[0] === isKept) last[1] += text; else if (text) list.push([isKept, text]);
    };
    all.slice(0, start).forEach(text => add(true, text));
    middle.forEach((text, i) => add(kept[i] === 1, text));
    all.slice(all.length - end).forEach(text => add(true, text));
    return list;
  };
  return [pieces(a, x, keptX), pieces(b, y, keptY)];
}

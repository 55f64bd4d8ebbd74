// This is the worker of a page without a server. It runs the simulator, compiled to WebAssembly, and
// answers one question after the other. offline.js starts it, and ends it to cancel a simulation.

import './wasm_exec.js'; // a file of the Go distribution
import { unpacked } from './unpack.js';

let start;
const ready = new Promise((resolve) => { start = resolve; }).then(async ({ module, runs }) => {
  const go = new globalThis.Go();
  go.run(await WebAssembly.instantiate(module, go.importObject));
  for (const { name, file } of runs) {
    const [status, text] = globalThis.mrlocal.add(name, await unpacked(file));
    if (status !== 200) throw new Error(JSON.parse(new TextDecoder().decode(text)).error);
  }
});
ready.catch((e) => postMessage({ broken: e.message, forever: true }));

onmessage = async ({ data }) => {
  if (data.module) return start(data);
  await ready;
  try {
    const { id, question, text } = data;
    const [status, answer] = question === 'simulate' ? globalThis.mrlocal.simulate(text) : globalThis.mrlocal.ask(question, text);
    postMessage({ id, status, answer }, [answer.buffer]);
  } catch (e) {
    postMessage({ broken: e.message });
  }
};

// Traces that have what the sections of the page show: devices, launches, steps, memory, ranks, hostile names.

// Names that would run, break out of their element, hide text or fill the page if they were not shown as text.
export const HOSTILE = [
  "</script><script>window.hacked = 1</script>",
  "<img src=x onerror='window.hacked = 2'>",
  "safe\u202egnp.exe\u2066\u200f",
  `"'><svg onload=window.hacked=3>`,
  "javascript:window.hacked=4",
  "line\nbreak\u0000\u001b[31m",
  "L".repeat(64 * 1024),
];

// The trace of one rank of a training loop on a device, as torch.profiler writes it. One step is slow.
export function training(rank, { steps = 4, ranks = 1, names = [], slowStep = 2 } = {}) {
  const events = [];
  const event = (name, cat, tid, ts, dur, args = {}) => events.push({ ph: "X", name, cat, pid: 1, tid, ts, dur, args });
  let correlation = 1;
  const live = { bytes: 0, address: 4096 };
  const memory = (ts, bytes, address) => {
    live.bytes += bytes;
    events.push({
      ph: "i", s: "t", name: "[memory]", pid: 1, tid: 1, ts,
      args: { "Device Type": 1, "Device Id": 0, Addr: address, Bytes: bytes, "Total Allocated": live.bytes },
    });
  };
  const launch = (kernel, ts, at, dur, args = {}) => {
    event("cudaLaunchKernel", "cuda_runtime", 1, ts, 4, { correlation });
    event(kernel, "kernel", 7, at, dur, { device: 0, stream: 7, correlation, ...args });
    correlation++;
  };
  let now = 1000;
  for (let step = 0; step < steps; step++) {
    const start = now;
    let device = now + 40;
    const kept = [];
    for (let layer = 0; layer < 5; layer++) {
      const size = 64 << layer;
      const slow = step === slowStep && layer === 3 ? 400 : 0;
      const begin = now;
      event("aten::linear", "cpu_op", 1, begin, 90 + slow, { "Input Dims": [[32, size], [size, size]], "Input type": ["float", "float"] });
      event("aten::addmm", "cpu_op", 1, begin + 10, 60, { "Input Dims": [[size], [32, size], [size, size]], "Input type": ["float", "float", "float"] });
      memory(begin + 12, size * 4096, live.address);
      kept.push([size * 4096, live.address]);
      live.address += size * 4096;
      const length = 20 + layer * 15 + (rank === 1 ? 12 : 0);
      device = Math.max(device, begin + 30);
      launch(layer === 4 ? "gemm_large" : "gemm", begin + 20, device, length);
      device += length + 3;
      now = begin + 100 + slow;
    }
    for (const name of names) {
      event(name, "cpu_op", 1, now, 8, { "Input Dims": [[3, 4]] });
      now += 10;
    }
    event("nccl:all_reduce", "cpu_op", 1, now, 30, {});
    device = Math.max(device, now + 15) + (ranks > 1 && rank === 0 ? 0 : 25);
    launch("ncclDevKernel_AllReduce_Sum_f32_RING", now + 5, device, 80, { "Collective name": "allreduce", "Process Group Name": "0", "In msg nelems": 65536, dtype: "Float", "Group size": ranks, Seq: step });
    device += 80;
    now += 40;
    event("cudaStreamSynchronize", "cuda_runtime", 1, now, device - now + 5, { correlation: correlation++, stream: 7 });
    now = device + 10;
    for (const [bytes, address] of kept) memory(now, -bytes, address);
    event(`ProfilerStep#${step}`, "user_annotation", 1, start - 5, now - start + 8);
    now += 30;
  }
  return {
    schemaVersion: 1,
    deviceProperties: [{ id: 0, name: "device" }],
    distributedInfo: { backend: "nccl", rank, world_size: ranks },
    traceEvents: events,
  };
}

// Flat ops on four threads, with ops inside of them: `entries` in all, in a text that is written in pieces.
export function* many(entries) {
  let random = 12345;
  const next = () => (random = (Math.imul(random, 1103515245) + 12345) & 0x7fffffff) / 0x7fffffff;
  yield '{"traceEvents":[';
  const clock = [0, 0, 0, 0];
  let written = 0;
  let first = true;
  const event = (name, tid, ts, dur, dims = "") => {
    written++;
    const text = `${first ? "" : ","}\n{"ph":"X","cat":"cpu_op","name":"${name}","pid":1,"tid":${tid + 1},"ts":${ts.toFixed(3)},"dur":${dur.toFixed(3)}${dims}}`;
    first = false;
    return text;
  };
  for (let layer = 0; written < entries; layer++) {
    const parts = [];
    for (let tid = 0; tid < 4; tid++) {
      const start = clock[tid];
      let now = start + 1 + next();
      const inner = [];
      for (let op = 0; op < 10; op++) {
        const dur = 2 + 40 * next() ** 3;
        const size = 16 << (Math.floor(next() * 8));
        inner.push(["op", op, now, dur, size]);
        now += dur + 0.2 + 3 * next();
      }
      parts.push(event(`layer.${layer % 24}`, tid, start, now - start + 1));
      for (const [, op, at, dur, size] of inner) {
        parts.push(event(`aten::op_${op}`, tid, at, dur, `,"args":{"Input Dims":[[${size},${size}]]}`));
        parts.push(event(`kernel_${op % 7}`, tid, at + dur * 0.1, dur * 0.35));
        parts.push(event(`kernel_${op % 5}`, tid, at + dur * 0.55, dur * 0.4));
      }
      clock[tid] = now + 2;
    }
    yield parts.join("");
  }
  yield "]}";
}

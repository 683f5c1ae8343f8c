// Shapes of the data in a page. Keys are those of `optrace report --format json`.

interface OpRow {
  operation: string;
  label?: string | null;
  /** Where the op is defined: file and line; several if annotated functions share its name. */
  locations?: string[];
  input_shapes?: number[][] | null;
  accelerator?: boolean;
  communication?: boolean;
  count: number;
  total_ns: number;
  self_ns: number;
  /** The part of the self time in which it only waited. */
  waiting_ns?: number;
  sum_ns: number;
  device_self_ns?: number;
  device_total_ns?: number;
  min_ns: number;
  mean_ns: number;
  p50_ns: number;
  p95_ns: number;
  p99_ns: number;
  max_ns: number;
  memory_bytes: number;
  bytes_moved: number;
  flops?: number;
  flops_per_s?: number | null;
  bytes_per_s?: number | null;
  arithmetic_intensity?: number | null;
}

interface FindingPart {
  name: string;
  input_shapes?: number[][] | null;
  ns: number;
  share: number;
}

interface Finding {
  kind: string;
  subject: string;
  cost_ns: number;
  share: number;
  sentence: string;
  section: string;
  advice: string;
  parts?: FindingPart[];
  within?: [string, string] | null;
}

interface DeviceActivity {
  rank?: number | null;
  device: string;
  span_ns: number;
  busy_ns: number;
  idle_ns: number;
  compute_ns: number;
  communication_ns: number;
  exposed_communication_ns: number;
}

interface StepRow {
  number: number;
  rank?: number | null;
  length_ns: number;
  device_busy_ns?: number | null;
  exposed_communication_ns?: number | null;
  device_idle_ns?: number | null;
  host_bound_ns?: number | null;
}

interface RooflinePoint {
  operation: string;
  input_shapes?: number[][] | null;
  arithmetic_intensity: number;
  flops_per_s: number;
  attainable_flops_per_s: number;
  efficiency: number;
  memory_bound: boolean;
}

interface Report {
  answer: string;
  findings: { whole: string; whole_ns: number; list: Finding[] };
  notes: string[];
  entries: number;
  threads: number;
  ranks: number;
  total_ns: number;
  span_ns: number;
  ops: OpRow[];
  shapes: OpRow[];
  steps?: {
    steps: StepRow[];
    mean_ns: number;
    deviation_ns: number;
    slowest?: number | null;
    slower_ops: { operation: string; input_shapes: number[][]; self_ns: number; usual_ns: number; calls: number }[];
  };
  activity: { devices: DeviceActivity[]; all?: DeviceActivity[] };
  idle?: {
    rank?: number | null;
    device: string;
    idle_ns: number;
    causes: { cause: string; ns: number; ops: [string, number][] }[];
  }[];
  collectives: {
    operation: string;
    collective?: string | null;
    calls: number;
    ranks: number;
    transfer_ns: number;
    bus_bytes_per_s?: number | null;
    wait_ns: [number, number][];
  }[];
  critical_path: {
    length_ns: number;
    ops: { operation: string; device?: string | null; path_ns: number; share: number; pieces: number }[];
  };
  memory: {
    rank?: number | null;
    device: string;
    peak_bytes: number;
    peak_at_ns: number;
    holders: { operation: string | null; bytes: number; blocks: number }[];
  }[];
  peaks?: { flops_per_s: number; bytes_per_s: number } | null;
  roofline?: RooflinePoint[];
}

interface Evidence {
  metric: string;
  before: number;
  after: number;
  change: number;
  p: number;
  verdict: string;
}

interface DiffRow {
  operation: string;
  input_shapes?: number[][] | null;
  accelerator?: boolean;
  count: [number, number];
  self_ns: [number, number];
  change_ns: number;
  more_calls_ns: number;
  slower_calls_ns: number;
  size: number;
  verdict: string;
  evidence: Evidence[];
}

interface TraceDiff {
  method: { runs: [number, number]; total: string; per: string; description: string };
  total: { before_ns: number; after_ns: number; change_ns: number; change: number; size: number; verdict: string };
  rows: DiffRow[];
  ops: DiffRow[];
  notes: string[];
}

interface WaitStates {
  total_ns: number;
  sums: { class: string; rank: number; operation: string; late_rank: number; count: number; ns: number }[];
  blames: { rank: number; operation: string; ns: number }[];
  ranks: {
    rank: number;
    span_ns: number;
    working_ns: number;
    waiting_ns: number;
    idle_ns: number;
    caused_ns: number;
  }[];
  unmatched_messages: number;
}

interface Summary {
  title: string;
  version: string;
  report: Report;
  step_numbers: number[];
  step_reports: Report[];
  /** The steps after the warm-up, if the first steps were slow. */
  after_warm_up?: { first: number; last: number; report: Report };
  short_names: Record<string, string>;
  wait_states?: WaitStates;
  diff?: TraceDiff;
  diff_before?: string;
  diff_after?: string;
}

interface LaneFacts {
  rank: number | null;
  name: string;
  device: string | null;
  tasks: boolean;
  rows: number;
}

interface TimelineFacts {
  origin_ns: number;
  lanes: LaneFacts[];
  steps: [number, number | null, number, number][];
  idle_devices: { rank: number | null; device: string; stretches: number }[];
  idle_classes: string[];
  stack_names: [string, string | null][];
  stack_steps: number[];
  memory_devices: { rank: number | null; device: string; points: number; blocks: number }[];
  memory_owners: { operation: string | null; label: string | null; input_shapes: number[][] }[];
  joined: string[];
}

type Child = Node | string | number | null | undefined | false | Child[];

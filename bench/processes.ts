import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** Usage of a process as the operating system reports it. */
type Usage = {
  readonly pid: number
  readonly parent: number
  readonly cpuSeconds: number
  readonly bytes: number
}

const HAS_PROC = existsSync('/proc/self/stat')
const [TICKS_PER_SECOND, PAGE_BYTES] = HAS_PROC
  ? [readSystem('CLK_TCK'), readSystem('PAGESIZE')]
  : [100, 4096]

function readSystem(name: string): number {
  return Number(execFileSync('getconf', [name], { encoding: 'utf8' }))
}

/** Processor time so far, user and system, of the process with all its threads and of all processes below it. */
export const readCpuSeconds = (pid: number) => sum(readTree(pid).map(({ cpuSeconds }) => cpuSeconds))

/** Resident memory, likewise. What forked processes share is counted in each. */
export const readMemoryBytes = (pid: number) => sum(readTree(pid).map(({ bytes }) => bytes))

const sum = (list: readonly number[]) => list.reduce((total, each) => total + each, 0)

/** The process and its descendants. */
export function readTree(root: number): Usage[] {
  const all = HAS_PROC ? readProc() : readPs()
  const tree = all.filter(({ pid }) => pid === root)
  for (const member of tree) tree.push(...all.filter(({ parent }) => parent === member.pid))
  return tree
}

function readProc(): Usage[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap(readProcStat)
}

function readProcStat(name: string): Usage[] {
  try {
    const text = readFileSync(`/proc/${name}/stat`, 'utf8')
    // The second field is the name of the program, which may hold spaces and brackets.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const at = (field: number) => Number(fields[field - 3])
    const cpuSeconds = (at(14) + at(15)) / TICKS_PER_SECOND
    return [{ pid: Number(name), parent: at(4), cpuSeconds, bytes: at(24) * PAGE_BYTES }]
  } catch {
    // The process ended between listing and reading.
    return []
  }
}

function readPs(): Usage[] {
  const text = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,cputime=,rss='], { encoding: 'utf8' })
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [pid, parent, time = '', kilobytes] = line.trim().split(/\s+/)
      return {
        pid: Number(pid),
        parent: Number(parent),
        cpuSeconds: toSeconds(time),
        bytes: Number(kilobytes) * 1024,
      }
    })
}

/** [days-][hours:]minutes:seconds[.hundredths] */
function toSeconds(time: string): number {
  const [clock = '', days = 0] = time.split('-').toReversed()
  const seconds = clock.split(':').reduce((total, part) => total * 60 + Number(part), 0)
  return Number(days) * 86_400 + seconds
}

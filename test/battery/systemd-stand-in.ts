import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/**
 * systemctl and systemd-run for a machine without systemd: runs the commands of units as their users, with their variables,
 * state directories and credentials. It restricts nothing. The battery of the production page and the test of the Debian package
 * install it under both names.
 */
type Unit = ReadonlyMap<string, readonly string[]>

const RUN = '/run/systemd-stand-in'
/** For a user that exists only while a service runs. */
const DYNAMIC_ID = 61_234

const [program = '', ...args] = process.argv.slice(2)
mkdirSync(RUN, { recursive: true })

function control(given: readonly string[]): number {
  const [verb = '', ...names] = given.filter((arg) => !arg.startsWith('--'))
  const isNow = given.includes('--now')
  for (const name of names
    .map((each) => each.replace(/\.service$/, ''))
    .filter((each) => !each.endsWith('.timer'))) {
    if (verb === 'try-restart' && isRunning(name)) {
      stop(name)
      while (isRunning(name)) pause()
      start(name)
    }
    if (/^(stop|restart)$/.test(verb) || (verb === 'disable' && isNow)) stop(name)
    if (/^(start|restart)$/.test(verb) || (verb === 'enable' && isNow)) start(name)
  }
  return 0
}

function readUnit(name: string): Unit {
  const path = ['/etc/systemd/system', '/lib/systemd/system']
    .map((folder) => join(folder, `${name}.service`))
    .find((each) => existsSync(each))
  if (!path) throw new Error(`there is no unit ${name}`)
  const lines = readFileSync(path, 'utf8').replaceAll('\\\n', ' ').split('\n')
  return toUnit(lines.filter((line) => /^[A-Z]\w*=/.test(line)))
}

function toUnit(lines: readonly string[]): Unit {
  const unit = new Map<string, string[]>()
  for (const line of lines) {
    const at = line.indexOf('=')
    const name = line.slice(0, at)
    unit.set(name, [...(unit.get(name) ?? []), line.slice(at + 1)])
  }
  return unit
}

function start(name: string): void {
  const unit = readUnit(name)
  const log = openSync(join(RUN, `${name}.log`), 'a')
  const { command, environment, user } = prepare(name, unit, unit.get('ExecStart')?.[0] ?? '')
  const child = spawn(command[0] ?? '', command.slice(1), {
    ...user,
    env: environment,
    cwd: '/',
    detached: true,
    stdio: ['ignore', log, log],
  })
  writeFileSync(join(RUN, `${name}.pid`), String(child.pid))
  child.unref()
}

function stop(name: string): void {
  const pid = toPid(name)
  if (pid === '') return
  try {
    process.kill(Number(pid), 'SIGTERM')
  } catch {
    // It has ended.
  }
}

const toPid = (name: string) => {
  const file = join(RUN, `${name}.pid`)
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

/** A process that has ended stays in the list until its parent looks. */
function isRunning(name: string): boolean {
  const file = `/proc/${toPid(name) || 'none'}/stat`
  return existsSync(file) && !/\) Z /.test(readFileSync(file, 'utf8'))
}

const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)

function runTransient(given: readonly string[]): number {
  const properties: string[] = []
  let at = 0
  for (; given[at]?.startsWith('-'); at++) if (given[at] === '-p') properties.push(given[++at] ?? '')
  const { command, environment, user } = prepare('transient', toUnit(properties), given.slice(at))
  const [file = '', ...rest] = command
  return spawnSync(file, rest, { ...user, env: environment, cwd: '/', stdio: 'inherit' }).status ?? 1
}

function prepare(name: string, unit: Unit, given: string | readonly string[]) {
  const user = toUser(unit)
  for (const folder of words(unit.get('StateDirectory'))) {
    const path = join('/var/lib', folder)
    mkdirSync(path, { recursive: true })
    chownSync(path, user.uid, user.gid)
    chmodSync(path, 0o700)
  }
  const credentials = join(RUN, `${name}.credentials`)
  for (const [id = '', path = ''] of (unit.get('LoadCredential') ?? []).map((each) => each.split(':'))) {
    mkdirSync(credentials, { recursive: true })
    execFileSync('install', ['-m', '400', '-o', String(user.uid), path, join(credentials, id)])
  }
  const toText = (text: string) =>
    text.replaceAll('%d', credentials).replaceAll('%p', name).replaceAll('%H', 'machine')
  const environment: Record<string, string> = {
    PATH: process.env.PATH ?? '',
    CREDENTIALS_DIRECTORY: credentials,
  }
  for (const each of words(unit.get('Environment')).map(toText)) assign(environment, each)
  // As with systemd, what the files say wins.
  for (const file of unit.get('EnvironmentFile') ?? []) readEnvironment(environment, toText(file))
  const expand = (text: string) =>
    toText(text).replace(/\$\$|\$\{?(\w+)\}?/g, (match, variable: string) =>
      match === '$$' ? '$' : (environment[variable] ?? ''),
    )
  const command = typeof given === 'string' ? words([expand(given)]) : given.map(expand)
  return { command, environment, user }
}

function readEnvironment(environment: Record<string, string>, file: string): void {
  const path = file.replace(/^-/, '')
  if (!existsSync(path)) return
  for (const line of readFileSync(path, 'utf8').split('\n')) if (/^\w+=/.test(line)) assign(environment, line)
}

function assign(environment: Record<string, string>, text: string): void {
  const at = text.indexOf('=')
  environment[text.slice(0, at)] = text.slice(at + 1)
}

/** Quotes are around whole words. */
const words = (texts: readonly string[] = []) =>
  texts.flatMap((text) => text.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replace(/^"|"$/g, ''))

function toUser(unit: Unit): { uid: number; gid: number } {
  const name = unit.get('User')?.[0]
  if (unit.get('DynamicUser')?.[0] === 'yes') return { uid: DYNAMIC_ID, gid: DYNAMIC_ID }
  if (name === undefined) return { uid: 0, gid: 0 }
  const id = (which: string) => Number(execFileSync('id', [which, basename(name)], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

process.exit(program === 'systemd-run' ? runTransient(args) : control(args))

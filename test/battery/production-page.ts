import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { arch, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { runInBackground, waitUntil, whyMissing } from '../cluster/programs.ts'

/**
 * Follows docs/production.md on one machine: runs its blocks that begin with "# on <addresses>", in their order, as root.
 * npm run battery:production-page
 *
 * Every machine has its own /etc, /var, /run, /srv and /usr/local (overlays in a mount namespace), and a network namespace with its
 * address and loopback, on one bridge. What is replaced:
 *
 * | on the page | here |
 * |---|---|
 * | systemctl, systemd-run | test/battery/systemd-stand-in.ts, which runs the commands of the units but restricts nothing |
 * | apt-get install | must be installed already |
 * | `IP=` | the address of the machine |
 * | copies from /root to /root | all machines have one /root |
 * | dist/tabbat-linux-… | a script that runs bin/tabbat of this checkout |
 * | /etc/haproxy/tabbat.pem | a certificate of its own, and `curl` trusts it and resolves verify.example.com to 10.0.0.5 |
 * | "repeated until it succeeds" | at most 100 seconds |
 */
const PAGE = 'docs/production.md'
const INSIDE = 'TABBAT_PRODUCTION_PAGE'
const REPEAT_MS = 100_000
const BRIDGE = 'private'
const FOLDERS = ['etc', 'var', 'srv', 'usr/local']
const PACKAGES = [
  'etcd-server',
  'etcd-client',
  'postgresql',
  'patroni',
  'python3-etcd',
  'python3-idna',
  'haproxy',
  'curl',
  'openssl',
]

type Block = { readonly machines: readonly string[]; readonly isRepeated: boolean; readonly text: string }
type Machine = { readonly pid: number; readonly folder: string }

const say = (line: string) =>
  void process.stderr.write(`${new Date().toISOString().slice(11, 19)}  ${line}\n`)

const missing = whyNot()
if (missing !== undefined) say(`The battery of the production page is skipped: ${missing}`)
else if (process.env[INSIDE] === undefined) process.exitCode = enter()
else await main()
process.exit()

function whyNot(): string | undefined {
  if (process.getuid?.() !== 0) return 'it needs root'
  return whyMissing(
    'unshare',
    'nsenter',
    'ip',
    'runuser',
    ...['etcd', 'etcdctl', 'patroni', 'haproxy', 'curl', 'openssl'],
  )
}

/** The same program in namespaces of its own: everything that it starts ends with it. */
function enter(): number {
  const args = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']
  const { status } = spawnSync('unshare', [...args, process.execPath, ...process.argv.slice(1)], {
    stdio: 'inherit',
    env: { ...process.env, [INSIDE]: 'yes' },
  })
  return status ?? 1
}

function readBlocks(page: string): Block[] {
  return [...page.matchAll(/^```sh\n# on ([^\n]+)\n([\s\S]*?)^```$/gm)].map(([, head = '', text = '']) => ({
    machines: head.match(/\d+\.\d+\.\d+\.\d+/g) ?? [],
    isRepeated: head.includes('repeated until it succeeds'),
    text,
  }))
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-page-'))
  const blocks = readBlocks(readFileSync(PAGE, 'utf8'))
  const addresses = [...new Set(blocks.flatMap(({ machines }) => machines))]
  execFileSync('ip', ['link', 'add', BRIDGE, 'type', 'bridge'])
  execFileSync('ip', ['link', 'set', BRIDGE, 'up'])
  try {
    const checkout = prepareCheckout(folder)
    const machines = new Map<string, Machine>()
    for (const address of addresses) machines.set(address, await startMachine(folder, address))
    const isDone = await runAll(blocks, machines, checkout)
    say(isDone ? 'The page can be followed.' : 'The page cannot be followed.')
    if (!isDone) process.exitCode = 1
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Stops at the first block that fails. */
async function runAll(blocks: readonly Block[], machines: ReadonlyMap<string, Machine>, checkout: string) {
  for (const [index, block] of blocks.entries())
    for (const address of block.machines) {
      const isDone = await runBlock(block, address, machines.get(address) as Machine, checkout)
      say(`block ${index + 1} of ${blocks.length} on ${address}: ${isDone ? 'done' : 'FAILED'}`)
      if (isDone) continue
      showLogs(machines)
      return false
    }
  return true
}

/** What the page calls a checkout of Tabbat, with an executable in dist/. */
function prepareCheckout(folder: string): string {
  const checkout = join(folder, 'checkout')
  mkdirSync(join(checkout, 'dist'), { recursive: true })
  mkdirSync(join(folder, 'root'))
  symlinkSync(resolve('deploy'), join(checkout, 'deploy'))
  const program = `#!/bin/sh\nexec ${resolve('bin/tabbat')} "$@"\n`
  writeFileSync(join(checkout, 'dist', `tabbat-linux-${arch()}`), program, { mode: 0o755 })
  // Users without rights must reach it.
  execFileSync('chmod', ['755', folder])
  return checkout
}

async function startMachine(folder: string, address: string): Promise<Machine> {
  const own = join(folder, address)
  const isUp = join(own, 'is-up')
  const mounts = FOLDERS.map((name) => {
    const layers = ['upper', 'work'].map((layer) => join(own, layer, name))
    for (const layer of layers) mkdirSync(layer, { recursive: true })
    return `mount -t overlay overlay -o lowerdir=/${name},upperdir=${layers[0]},workdir=${layers[1]} /${name}`
  })
  const standIn = `exec ${process.execPath} ${resolve('test/battery/systemd-stand-in.ts')}`
  const script = [
    'set -e',
    ...mounts,
    'mount -t tmpfs -o mode=755 tmpfs /run',
    'until ip link set eth0 up 2> /dev/null; do sleep 0.1; done',
    `ip address add ${address}/24 dev eth0; ip link set lo up`,
    'install -d -m 2775 -o postgres -g postgres /run/postgresql',
    `mount --bind ${join(folder, 'root')} /root`,
    'mkdir -p /usr/local/sbin /usr/local/bin',
    ...['systemctl', 'systemd-run'].map(
      (name) =>
        `printf '#!/bin/sh\\n${standIn} ${name} "$@"\\n' > /usr/local/sbin/${name}; chmod 755 /usr/local/sbin/${name}`,
    ),
    `printf '#!/bin/sh\\nfor p in ${PACKAGES.join(' ')}; do dpkg -s $p > /dev/null || exit 1; done\\n' > /usr/local/sbin/apt-get; chmod 755 /usr/local/sbin/apt-get`,
    `printf '#!/bin/sh\\nexec /usr/bin/curl --insecure --resolve verify.example.com:443:10.0.0.5 "$@"\\n' > /usr/local/sbin/curl; chmod 755 /usr/local/sbin/curl`,
    'openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=verify.example.com -keyout /run/key -out /run/cert 2> /dev/null',
    'mkdir -p /etc/haproxy; (umask 077; cat /run/cert /run/key > /etc/haproxy/tabbat.pem)',
    `touch ${isUp}`,
    'exec sleep infinity',
  ].join('\n')
  const { child, output } = runInBackground('unshare', ['--mount', '--net', 'bash', '-c', script])
  const machine = { pid: child.pid ?? 0, folder: own }
  await waitUntil(`the network of ${address}`, async () => connect(address, machine))
  await waitUntil(`machine ${address}`, async () => existsSync(isUp)).catch((error) => {
    throw new Error(`${error}\n${output()}`)
  })
  return machine
}

/** False as long as the machine has no namespace of its own. */
function connect(address: string, { pid }: Machine): boolean {
  if (readlinkSync(`/proc/${pid}/ns/net`) === readlinkSync('/proc/self/ns/net')) return false
  const name = `machine${address.split('.').at(-1)}`
  const peer = ['type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid)]
  execFileSync('ip', ['link', 'add', name, 'master', BRIDGE, 'up', ...peer])
  return true
}

function enterMachine({ pid }: Machine, script: string, cwd: string) {
  const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
  return spawnSync('nsenter', ['-t', String(pid), '-m', '-n', 'bash', '-c', `cd ${cwd}\n${script}`], {
    env: { PATH: path, HOME: '/root' },
    encoding: 'utf8',
  })
}

async function runBlock({ text, isRepeated }: Block, address: string, machine: Machine, checkout: string) {
  const script = `set -e\nset -o pipefail\n${text.replace(/^IP=\S+/m, `IP=${address}`)}`
  const until = performance.now() + (isRepeated ? REPEAT_MS : 0)
  for (;;) {
    const { status, stdout, stderr } = enterMachine(machine, script, checkout)
    if (status === 0) return true
    if (performance.now() > until) {
      say(`exit code ${status}\n${stdout}${stderr}`)
      return false
    }
    await new Promise((done) => setTimeout(done, 1000))
  }
}

function showLogs(machines: ReadonlyMap<string, Machine>): void {
  for (const [address, machine] of machines) {
    const { stdout } = enterMachine(machine, 'tail -n 15 /run/systemd-stand-in/*.log', '/')
    if (stdout) say(`logs of ${address}\n${stdout}`)
  }
}

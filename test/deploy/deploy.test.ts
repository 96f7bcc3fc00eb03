import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { toPackaged } from '../../build/deb.ts'
import { listSettings } from '../../src/context/config.ts'
import { whyMissing } from '../cluster/programs.ts'

const missing = whyMissing('systemd-analyze')
const UNITS = globSync('deploy/systemd/*.{service,timer}')
/** Of 100; without any of the restrictions it is 96. */
const MAX_EXPOSED = '15'

/** A folder with the units, whose programs exist on this machine. */
function copyUnits(dropIn?: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-units-'))
  for (const unit of UNITS) {
    const path = join(folder, basename(unit))
    writeFileSync(path, readFileSync(unit, 'utf8').replaceAll('/usr/local/bin/tabbat', process.execPath))
    if (dropIn) cpSync(dropIn, join(`${path}.d`, basename(dropIn)))
  }
  return folder
}

const analyze = (...args: string[]) =>
  execFileSync('systemd-analyze', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

describe('the units of systemd', () => {
  if (missing !== undefined) return void it.skip(`are not tested: ${missing}`)

  it.each(UNITS.map((unit) => basename(unit)))('%s has no mistakes', (unit) => {
    expect(analyze('verify', '--man=no', join(copyUnits(), unit))).toBe('')
  })

  it('have no mistakes with the drop-in for a command that prints the root key', () => {
    const folder = copyUnits('deploy/systemd/00-key-command.conf')
    for (const unit of ['tabbat.service', 'tabbat-backup.service'])
      expect(analyze('verify', '--man=no', join(folder, unit))).toBe('')
  })

  it.each(UNITS.filter((unit) => unit.endsWith('.service')))('%s gives the program few rights', (unit) => {
    const report = analyze('security', '--offline=true', `--threshold=${MAX_EXPOSED}`, unit)
    expect(report).toContain('Overall exposure level')
  })
})

it('the service is started again however often it has failed', () => {
  const [head = '', service = ''] = readFileSync('deploy/systemd/tabbat.service', 'utf8').split('[Service]')
  expect(head).toMatch(/^StartLimitIntervalSec=0$/m)
  expect(service).toMatch(/^Restart=always\nRestartSec=5$/m)
})

it.each([
  ['of a checkout', (text: string) => text],
  ['of the Debian package', toPackaged],
])('the nightly backup %s checks the file that it has written', (_which, toText) => {
  const unit = toText(readFileSync('deploy/systemd/tabbat-backup.service', 'utf8'))
  expect(unit).toMatch(/^ExecStart=\/usr\/(local\/)?bin\/tabbat backup --check --keep 30 (\S+)$/m)
  expect(unit).not.toContain('ExecStartPost')
})

describe.each([
  ['of a checkout', (text: string) => text],
  ['of the Debian package', toPackaged],
])('tabbat-run %s', (_which, toText) => {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-run-'))
  const script = join(folder, 'tabbat-run')
  const settings = join(folder, 'tabbat.env')
  writeFileSync(
    script,
    toText(readFileSync('deploy/systemd/tabbat-run', 'utf8')).replace(
      / \/etc\/tabbat\/tabbat\.env; then/,
      ` ${settings}; then`,
    ),
  )
  // Prints its arguments.
  beforeEach(() =>
    writeFileSync(join(folder, 'systemd-run'), '#!/bin/sh\nprintf "%s\\n" "$@"\n', { mode: 0o755 }),
  )
  const run = (...args: string[]) =>
    spawnSync('sh', [script, ...args], {
      env: { PATH: `${folder}:${process.env.PATH}` },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })

  it.each([
    ['audit', 'archive', '--before', '2026-01-01', '--to', '/tmp/2025.audit.zst'],
    ['audit', 'archive', '--before', '2026-01-01', '--to=/tmp/2025.audit.zst'],
    ['audit', 'export', '--out', '/var/tmp/audit.ndjson'],
    ['backup', '/tmp'],
    ['backup', '/dev/shm/backups'],
    ['backup', 'tmp/backups'],
    ['backup', 'tmp'],
    ['backup', '/var/lib/../tmp/backups'],
    ['backup', '//tmp/backups'],
    ['import', 'nin', '/proc/self/root/tmp/people.ndjson'],
  ])('refuses a path in a folder for temporary files: %s %s %s', (...args) => {
    const { status, stdout, stderr } = run(...args)
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/ is in a folder for temporary files\. .* \/var\/lib\/tabbat-archive, .*\n$/)
  })

  it('lets systemd-run decide about a terminal, by standard input, output and error', () => {
    expect(run('doctor').stdout).toContain('\n--pty\n--pipe\n')
  })

  it.each([
    ['hands the root key over', 'TABBAT_NIN_SOURCES=registry\n#TABBAT_ROOT_KEY_COMMAND=a\n', true],
    [
      'leaves it to the command of the settings',
      'TABBAT_HOST=a\nTABBAT_ROOT_KEY_COMMAND=vault kv get\n',
      false,
    ],
  ])('%s', (_what, text, isGiven) => {
    writeFileSync(settings, text)
    const { stdout } = run('doctor')
    rmSync(settings)
    expect(stdout.includes('LoadCredential=root.key:/etc/tabbat/root.key')).toBe(isGiven)
    expect(stdout.includes('TABBAT_ROOT_KEY_FILE=')).toBe(isGiven)
    expect(stdout).toMatch(/\n\/usr\/bin\/env\nTABBAT_DATA_DIR=\/var\/lib\/tabbat\n/)
  })

  it('has the folders of all units', () => {
    const folders = UNITS.flatMap(
      (unit) => /^StateDirectory=(.*)$/m.exec(readFileSync(unit, 'utf8'))?.[1] ?? [],
    )
    const [, own = ''] = /^StateDirectory=(.*)$/m.exec(run('doctor').stdout) ?? []
    expect(own.split(' ')).toEqual(expect.arrayContaining(folders.join(' ').split(' ')))
  })

  it('has the exit code of the command', () => {
    writeFileSync(join(folder, 'systemd-run'), '#!/bin/sh\nexit 3\n')
    expect(run('doctor').status).toBe(3)
  })

  it('ends the command with Ctrl-C', () => {
    const end = 'kill -INT $PPID $$'
    writeFileSync(join(folder, 'systemd-run'), `#!/bin/sh\nprintf "%s\\n" "$@"\n${end}\n`)
    writeFileSync(join(folder, 'systemctl'), '#!/bin/sh\necho systemctl "$@"\n', { mode: 0o755 })
    const { status, stdout } = run('doctor')
    expect([status, stdout]).toEqual([
      130,
      expect.stringMatching(/^--unit=(tabbat-run-\d+\.service)$.*^systemctl stop \1\n$/ms),
    ])
  })

  it.each([
    ['audit', 'archive', '--before', '2026-01-01', '--to', '/var/lib/tabbat-archive/2025.audit.zst'],
    ['keys', 'revoke', 'tmp'],
    ['keys', 'create', '--name', 'a tmp/shop = b', '--mode=live'],
    ['webhooks', 'add', 'https://shop.example/tmp/hook?a=/b'],
    ['import', 'nin', '/tmpfiles/people.ndjson', '-'],
  ])('passes other arguments on: %s %s %s', (...args) => {
    const { status, stdout, stderr } = run(...args)
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout.split('\n').slice(-args.length - 1, -1)).toEqual(args)
  })

  it('doubles each $, which systemd undoes: it would put a variable there', () => {
    const { stdout } = run('keys', 'create', '--name', '$HOME', '', 'a $b $$ "c"')
    expect(stdout.split('\n').slice(-4, -1)).toEqual(['$$HOME', '', 'a $$b $$$$ "c"'])
  })
})

it('on Kubernetes no pod can claim the address of another', () => {
  const documents = readFileSync('deploy/kubernetes/tabbat.yaml', 'utf8').split('\n---\n')
  const find = (kind: string) => documents.find((text) => text.includes(`\nkind: ${kind}\n`)) ?? ''
  expect(find('ConfigMap')).not.toMatch(/^ *TABBAT_TRUST_PROXY:/m)
  const [, ...openings] = find('NetworkPolicy').split(/^ {4}- (?=\w)/m)
  expect(
    openings.map((text) => /^from:\n.*\n.*metadata\.name: ([\w-]+)\}\n {6}ports:/.exec(text)?.[1]),
  ).toEqual(['ingress-nginx', 'monitoring'])
})

describe.each(globSync('deploy/**/*', { withFileTypes: true }).filter((entry) => entry.isFile()))(
  '$name',
  ({ name, parentPath }) => {
    it('names settings that exist', () => {
      const known = new Set(listSettings().flatMap(({ env }) => [env, `${env}_FILE`]))
      const named = readFileSync(join(parentPath, name), 'utf8').matchAll(/\bTABBAT_[A-Z][A-Z_]*[A-Z]\b/g)
      // Those of the proxies are explained in their files.
      const own = /^TABBAT_(PROXY|NODE|POSTGRES|PATRONI)(_|$)/
      expect([...named].map(([env]) => env).filter((env) => !known.has(env) && !own.test(env))).toEqual([])
    })
  },
)

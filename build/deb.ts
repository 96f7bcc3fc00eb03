import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Command } from 'commander'
import { toCompletionScript } from '../src/cli/completion.ts'
import { toManPage } from '../src/cli/help-command.ts'
import { createFullProgram } from '../src/cli/program.ts'
import { VERSION } from '../src/version.ts'
import { ROOT } from './bundle.ts'
import { type PackedFile, toDebianPackage } from './deb-archive.ts'
import { readArguments, toChoice } from './tool-arguments.ts'

/** The processors that Debian has and executables are made for, and the glibc and libstdc++ that their Node.js needs. */
const ARCHITECTURES: Readonly<Record<string, string>> = { 'linux-x64': 'amd64', 'linux-arm64': 'arm64' }
const DEPENDS = 'libc6 (>= 2.28), libgcc-s1 (>= 3.4), libstdc++6 (>= 7), systemd'
const MAINTAINER = 'The contributors to Tabbat <tabbat@users.noreply.github.com>'

type DebOptions = {
  /** Such as linux-x64. */
  readonly target: string
  /** A folder with the executable for it and the files beside it. */
  readonly from: string
  /** Another one, to test an upgrade. */
  readonly version?: string
  /** Of gzip: 0 does not compress, 9 takes the longest. */
  readonly level?: number
}

/** The file name and the bytes of the package. */
export async function buildDeb({
  target,
  from,
  version = VERSION,
  level = 6,
}: DebOptions): Promise<[name: string, bytes: Buffer]> {
  const architecture = toArchitecture(target)
  const program = await createFullProgram()
  const releases = listReleases()
  const bytes = toDebianPackage({
    control: {
      Package: 'tabbat',
      Version: version,
      Architecture: architecture,
      Maintainer: MAINTAINER,
      Depends: DEPENDS,
      Section: 'net',
      Priority: 'optional',
      Homepage: 'https://github.com/tabbat/tabbat',
      Description: `self-hosted gateway for Nigerian identity checks\n${DESCRIPTION}`,
    },
    scripts: Object.fromEntries(
      ['postinst', 'prerm', 'postrm'].map((name) => [name, readDeploy(`debian/${name}`)]),
    ),
    conffiles: ['etc/tabbat/tabbat.env'],
    files: [
      ...listProgramFiles(target, from),
      ...listServiceFiles(),
      ...listShellFiles(program),
      ...listDocFiles(releases, version),
    ],
    time: Date.parse(`${releases[0]?.date}T00:00Z`) / 1000,
    level,
  })
  return [`tabbat_${version}_${architecture}.deb`, bytes]
}

const DESCRIPTION = ` Systems call one HTTP API that you run yourself. It answers from your own
 records and from the licensed vendors that you have accounts with, calls the
 next vendor when one fails, and records every verification in an audit log.
 .
 The package has the program as one executable, with Node.js inside, and a
 systemd service with few rights.`

function toArchitecture(target: string): string {
  const found = ARCHITECTURES[target]
  if (found !== undefined) return found
  throw new Error(
    `There is no Debian package for ${target}. There is one for ${Object.keys(ARCHITECTURES).join(' and ')}.`,
  )
}

const readDeploy = (path: string) => readFileSync(join(ROOT, 'deploy', path), 'utf8')
const toFile = (path: string, content: string | Buffer, mode = 0o644): PackedFile => ({
  path,
  mode,
  bytes: Buffer.from(content),
})
/** Without a time and a name in the header. */
const toGzFile = (path: string, content: string | Buffer) => toFile(path, gzipSync(content, { level: 9 }))
const DOC = 'usr/share/doc/tabbat'

const listProgramFiles = (target: string, from: string): PackedFile[] => [
  toFile('usr/bin/tabbat', readFileSync(join(from, `tabbat-${target}`)), 0o755),
  toGzFile(`${DOC}/sbom.cdx.json.gz`, readFileSync(join(from, `sbom-${target}.cdx.json`))),
  toGzFile(`${DOC}/third-party.txt.gz`, readFileSync(join(from, `licenses-${target}.txt`))),
]

const UNITS = ['tabbat.service', 'tabbat-backup.service', 'tabbat-backup.timer']

/** The units of deploy/systemd, with the paths of a package and with a user that stays: the data folder is there before the first start. */
const listServiceFiles = (): PackedFile[] => [
  ...UNITS.map((name) => toFile(`lib/systemd/system/${name}`, toPackaged(readDeploy(`systemd/${name}`)))),
  toFile('usr/sbin/tabbat-run', toPackaged(readDeploy('systemd/tabbat-run')), 0o755),
  toFile('usr/lib/sysusers.d/tabbat.conf', readDeploy('debian/sysusers.conf')),
  toFile('usr/lib/tmpfiles.d/tabbat.conf', readDeploy('debian/tmpfiles.conf')),
  toFile('etc/tabbat/tabbat.env', readDeploy('debian/tabbat.env'), 0o640),
]

export function toPackaged(text: string): string {
  const changed = text
    .replaceAll('/usr/local/', '/usr/')
    .replace(
      /^# How to install it: .*Commands run as its user with .*$/m,
      '# Commands run as its user with tabbat-run.',
    )
    .replace('a user that exists only while the service runs.', 'the user tabbat.')
    .replace('# Install it as /usr/sbin/tabbat-run. Needs root.', '# Needs root.')
    .replace('DynamicUser=yes\nUser=tabbat', 'User=tabbat\nGroup=tabbat')
    .replace('-p DynamicUser=yes -p User=tabbat', '-p User=tabbat -p Group=tabbat')
  if (/\/usr\/local|DynamicUser|deploy\//.test(changed))
    throw new Error(
      'A file of deploy/systemd has changed, and build/deb.ts no longer makes that of the package from it.',
    )
  return changed
}

const listShellFiles = (program: Command): PackedFile[] => [
  toGzFile('usr/share/man/man1/tabbat.1.gz', toManPage(program)),
  toGzFile('usr/share/man/man8/tabbat-run.8.gz', RUN_PAGE),
  toFile('usr/share/bash-completion/completions/tabbat', toCompletionScript('bash', program)),
  toFile('usr/share/zsh/vendor-completions/_tabbat', toCompletionScript('zsh', program)),
  toFile('usr/share/fish/vendor_completions.d/tabbat.fish', toCompletionScript('fish', program)),
]

const RUN_PAGE = `.TH TABBAT-RUN 8 "" "Tabbat ${VERSION}" "System Administration"
.SH NAME
tabbat\\-run \\- run a command of Tabbat as the user of its service
.SH SYNOPSIS
.B tabbat\\-run
.I command
[options]
.SH DESCRIPTION
Runs
.BR tabbat (1)
as the user of tabbat.service, with its settings (/etc/tabbat/tabbat.env), folders and root key. It needs root. Files are named by their whole path.
.PP
A command can write files to /var/lib/tabbat, /var/lib/tabbat\\-checkpoints, /var/lib/tabbat\\-archive and /var/lib/tabbat\\-backup. A path in /tmp, /var/tmp or /dev/shm is refused: systemd deletes what a command wrote there when it ends. Standard input and standard output may be any file.
.PP
The command has a terminal if standard input, output and error are all one. Otherwise it gets these three as they are. Questions are asked on standard error.
.SH EXAMPLES
.nf
tabbat\\-run doctor
tabbat\\-run keys create \\-\\-name shop \\-\\-mode live
.fi
`

type ReleaseNotes = { readonly version: string; readonly date: string; readonly items: readonly string[] }

const listDocFiles = (releases: readonly ReleaseNotes[], version: string): PackedFile[] => [
  toFile(`${DOC}/copyright`, readDeploy('debian/copyright')),
  toGzFile(`${DOC}/changelog.gz`, toDebianChangelog(releases, version)),
  toFile(`${DOC}/examples/tabbat.env`, readFileSync(join(ROOT, '.env.example'))),
  toFile(`${DOC}/examples/00-key-command.conf`, readDeploy('systemd/00-key-command.conf')),
  toFile('usr/share/lintian/overrides/tabbat', readDeploy('debian/lintian-overrides')),
]

/** The releases of CHANGELOG.md, the newest first. What is not released has no date. */
function listReleases(): ReleaseNotes[] {
  const text = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8')
  return text
    .split(/^## /m)
    .slice(1)
    .flatMap((section) => {
      const [, version, date] = /^\[(\d[^\]]*)\] - (\d{4}-\d{2}-\d{2})/.exec(section) ?? []
      if (version === undefined || date === undefined) return []
      return [{ version, date, items: [...section.matchAll(/^- (.*)$/gm)].map(([, item = '']) => item) }]
    })
}

/** In the form of Debian. */
function toDebianChangelog(releases: readonly ReleaseNotes[], version: string): string {
  const newest =
    releases[0]?.version === version
      ? []
      : [{ ...releases[0], version, items: ['A build that is not released.'] }]
  return [...newest, ...releases]
    .map(({ version: each, date, items }) => {
      const day = new Date(`${date}T00:00Z`).toUTCString().replace('GMT', '+0000')
      const lines = items.map((item) => `  * ${wrap(item).join('\n    ')}\n`)
      return `tabbat (${each}) stable; urgency=medium\n\n${lines.join('')}\n -- ${MAINTAINER}  ${day}\n`
    })
    .join('\n')
}

/** Lines of at most 76 characters. */
function wrap(text: string): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line !== '' && line.length + word.length >= 76) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines
}

const HELP = `npm run build:deb -- [options]

Makes a Debian package, from the executable that it builds first.

  --out FOLDER     where to (default dist)
  --target TARGET  ${Object.keys(ARCHITECTURES).join(' or ')} (default: this machine)
  --from FOLDER    build no executable, and take the one in this folder`

async function main(): Promise<void> {
  const { out, target, from } = readArguments(HELP, {
    out: { type: 'string', default: join(ROOT, 'dist') },
    target: { type: 'string', default: `${process.platform}-${process.arch}` },
    from: { type: 'string' },
  }).values
  toChoice('--target', target, Object.keys(ARCHITECTURES))
  if (from === undefined)
    execFileSync(process.execPath, [join(ROOT, 'build/binary.ts'), '--out', out, '--target', target], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  const [name, bytes] = await buildDeb({ target, from: from ?? out })
  writeFileSync(join(out, name), bytes)
  process.stdout.write(`${resolve(out, name)}: ${Math.round(bytes.length / 1e6)} MB\n`)
}

if (import.meta.main)
  await main().catch((error: Error) => {
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  })

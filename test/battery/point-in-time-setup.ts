import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type PatroniCluster, startPatroni } from '../cluster/patroni.ts'
import { account, BIN_DIR, type Member, newFolder, sendToPatroni } from '../cluster/patroni-member.ts'
import { findProgram } from '../cluster/programs.ts'
import { execute } from '../postgres.ts'

/** A PostgreSQL cluster whose write-ahead log goes to a repository of pgBackRest. */
export type ArchivedCluster = PatroniCluster & {
  /** Runs pgBackRest on the machine of a member. */
  readonly pgbackrest: (member: Member, ...args: string[]) => string
  /** Runs another program there. */
  readonly run: (member: Member, program: string, args: readonly string[], input?: string) => string
}

/** The account that runs PostgreSQL, which is a role of the same name. */
const ROLE = execFileSync('id', ['-un', String(account.uid ?? process.getuid?.() ?? '')], {
  encoding: 'utf8',
}).trim()

/** As in docs/production.md. */
const ARCHIVING = {
  archive_mode: 'on',
  archive_command: 'pgbackrest --stanza=tabbat archive-push %p',
  archive_timeout: '60s',
}

export async function startArchivedCluster(): Promise<ArchivedCluster> {
  const folder = newFolder(mkdtempSync(join(tmpdir(), 'tabbat-pgbackrest-')))
  const cipherPass = randomBytes(24).toString('base64')
  const toEnvironment = ({ dataDir, port }: Pick<Member, 'dataDir' | 'port'>) => {
    const own = newFolder(join(folder, String(port)))
    return {
      PGBACKREST_CONFIG: resolve('deploy/pgbackrest/pgbackrest.conf'),
      PGBACKREST_REPO1_TYPE: 'posix',
      PGBACKREST_REPO1_PATH: join(folder, 'repository'),
      PGBACKREST_REPO1_CIPHER_PASS: cipherPass,
      PGBACKREST_PG1_PATH: dataDir,
      PGBACKREST_PG1_PORT: String(port),
      PGBACKREST_PG1_USER: ROLE,
      PGBACKREST_LOG_PATH: own,
      PGBACKREST_LOCK_PATH: own,
      PGBACKREST_SPOOL_PATH: own,
    }
  }
  const cluster = await startPatroni(toEnvironment)
  const run = (member: Member, program: string, args: readonly string[], input = '') =>
    execFileSync(program === 'pg_ctl' ? `${BIN_DIR}/pg_ctl` : (findProgram(program) ?? program), args, {
      ...account,
      cwd: folder,
      env: {
        PATH: `${process.env.PATH}:${BIN_DIR}`,
        ...cluster.etcd,
        ...toEnvironment(member),
      },
      input,
      encoding: 'utf8',
    })
  await cluster.untilSynchronous()
  await switchOnArchiving(cluster)
  return {
    ...cluster,
    pgbackrest: (member, ...args) => run(member, 'pgbackrest', ['--stanza=tabbat', ...args]),
    run,
  }
}

/** As `patronictl edit-config` and `patronictl restart` do. */
async function switchOnArchiving({
  leader,
  members,
  toUrl,
  untilSynchronous,
}: PatroniCluster): Promise<void> {
  const primary = await leader()
  // Run by root, the account is postgres, whose role there is.
  if (ROLE !== 'postgres')
    await execute(toUrl(`127.0.0.1:${primary.port}`, 'postgres'), `CREATE ROLE ${ROLE} SUPERUSER LOGIN`)
  await sendToPatroni(primary, 'PATCH', 'config', { postgresql: { parameters: ARCHIVING } })
  for (const member of members) await sendToPatroni(member, 'POST', 'restart', {})
  await untilSynchronous()
}

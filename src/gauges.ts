import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { SourceLine } from './source-line.ts'
import type { Post } from './sources/post.ts'

/** What can be read at the moment of looking: the process, the sources, their spend. */
export function createGauges(line: Pick<SourceLine, 'posts' | 'listSpend'>): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  addSources(registry, line.posts)
  addSpend(registry, line)
  return registry
}

const STATES = ['closed', 'half_open', 'open', 'disabled'] as const

/** How the sources are doing, read when somebody looks. */
function addSources(registry: Registry, posts: readonly Post[]): void {
  const registers = [registry]
  const labelNames = ['source', 'operation'] as const
  const gauge = (name: string, help: string, read: (post: Post) => number | null) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        for (const post of posts) {
          const value = read(post)
          if (value !== null) this.set({ source: post.name, operation: post.operation }, value)
        }
      },
    })
  gauge(
    'tabbat_source_state',
    `State of a source: ${STATES.map((state, index) => `${index} ${state}`).join(', ')}.`,
    (post) => STATES.indexOf(post.read().state),
  )
  gauge('tabbat_source_calls', 'Questions asked since the start.', (post) => post.read().calls)
  gauge('tabbat_source_failures', 'Questions that failed since the start.', (post) => post.read().failures)
  gauge(
    'tabbat_source_error_rate',
    'Part of the last 256 questions that failed.',
    (post) => post.read().errorRate,
  )
  for (const part of ['p50', 'p95', 'p99'] as const)
    gauge(`tabbat_source_${part}_seconds`, `Time of the last 256 questions, ${part}.`, (post) => {
      const ms = post.read()[part]
      return ms === null ? null : ms / 1000
    })
  gauge('tabbat_source_last_success_seconds', 'When a question was last answered, in Unix time.', (post) => {
    const { lastSuccessAt } = post.read()
    return lastSuccessAt === null ? null : Date.parse(lastSuccessAt) / 1000
  })
}

/** All nodes together, from the store. While it is away, the last figure stands. */
function addSpend(registry: Registry, { posts, listSpend }: Pick<SourceLine, 'posts' | 'listSpend'>): void {
  if (posts.length === 0) return
  new Gauge({
    name: 'tabbat_source_spend_today_naira',
    help: 'What the calls of today cost, on all nodes.',
    labelNames: ['source'],
    registers: [registry],
    async collect() {
      const spent = await listSpend().catch(() => [])
      for (const { name, kobo } of spent) this.set({ source: name }, kobo / 100)
    },
  })
}

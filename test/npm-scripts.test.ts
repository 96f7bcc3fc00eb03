import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }

/** npm 10 removes the link to the Node.js of the project, and that of the machine may be too old. */
const LINKS = /^sh build\/link-node && |^npm run ([\w:-]+) && /
const RUNS_NODE = /(?:^|&& |=\S+ )(?:node|vitest|vite) /

it('each script that runs Node.js puts its link back first, or begins with a script that does', () => {
  const isLinked = (text: string): boolean => {
    const [start, before] = LINKS.exec(text) ?? []
    return start !== undefined && (before === undefined || isLinked(scripts[before] ?? ''))
  }
  const running = Object.entries(scripts).filter(([, text]) => RUNS_NODE.test(text))
  expect(running.length).toBeGreaterThan(40)
  expect(running.filter(([, text]) => !isLinked(text)).map(([name]) => name)).toEqual([])
})

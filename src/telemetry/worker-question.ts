import cluster, { type Worker } from 'node:cluster'

/** What the processes of this node have in memory. Workers ask each other through the process that started them. */
type Message =
  | { readonly question: string; readonly step: 'asked'; readonly id: number }
  | { readonly question: string; readonly step: 'sent'; readonly id: number; readonly workers: number }
  | { readonly question: string; readonly step: 'put'; readonly id: number; readonly asker: number }
  | {
      readonly question: string
      readonly step: 'answered'
      readonly id: number
      readonly asker: number
      readonly answer: unknown
    }

/** How long a busy worker is waited for. Then it is left out. */
const TIMEOUT_MS = 300

/** Makes a question that every worker can ask all. The answers: that of this process first. They must be plain data. */
export function createQuestion<T>(question: string, answer: () => T): () => Promise<T[]> {
  if (!cluster.isWorker) return async () => [answer()]
  let lastId = 0
  const waiting = new Map<number, (message: Message) => void>()
  process.on('message', (message: Message) => {
    if (message?.question !== question) return
    if (message.step === 'put') process.send?.({ ...message, step: 'answered', answer: answer() })
    else waiting.get(message.id)?.(message)
  })
  return () =>
    new Promise((resolve) => {
      const id = ++lastId
      const answers = [answer()]
      let workers = Number.POSITIVE_INFINITY
      const finish = () => {
        clearTimeout(timer)
        waiting.delete(id)
        resolve(answers)
      }
      const timer = setTimeout(finish, TIMEOUT_MS).unref()
      waiting.set(id, (message) => {
        if (message.step === 'sent') workers = message.workers
        if (message.step === 'answered') answers.push(message.answer as T)
        if (answers.length > workers) finish()
      })
      process.send?.({ question, step: 'asked', id })
    })
}

/** In the process that started the workers: passes questions to the other workers, and their answers back. */
export function relayQuestions(): void {
  cluster.on('message', (worker, message: Message) => {
    if (message?.question === undefined) return
    const { question, id } = message
    if (message.step === 'asked') {
      const all = Object.values(cluster.workers ?? {}) as Worker[]
      const others = all.filter((other) => other.id !== worker.id && other.isConnected())
      worker.send({ question, step: 'sent', id, workers: others.length })
      for (const other of others) other.send({ question, step: 'put', id, asker: worker.id })
    }
    if (message.step === 'answered') {
      const asker = cluster.workers?.[message.asker]
      if (asker?.isConnected()) asker.send(message)
    }
  })
}

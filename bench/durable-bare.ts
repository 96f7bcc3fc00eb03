import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

/**
 * The control of the latency: node:http that waits for the disk before it answers, and does nothing else. A thread writes 8 kB
 * and calls fdatasync for all requests that arrived together. node bench/durable-bare.ts <port> <file to write>
 */
const WRITE_BYTES = 8192
/** Written from the beginning again after that. */
const FILE_BYTES = 32 * 1024 * 1024
const BODY = '{"success":true}'
const HEAD = { 'content-type': 'application/json', 'content-length': BODY.length }

if (isMainThread) serve(Number(process.argv[2]), process.argv[3] ?? '')
else write(workerData as string)

function serve(port: number, file: string): void {
  const writer = new Worker(new URL(import.meta.url), { workerData: file })
  const waiting: ServerResponse[] = []
  let arrived = 0
  const post = () => {
    writer.postMessage(arrived)
    arrived = 0
  }
  writer.on('message', (count: number) => {
    for (const response of waiting.splice(0, count)) response.writeHead(200, HEAD).end(BODY)
  })
  createServer((request, response) => {
    request.resume().on('end', () => {
      waiting.push(response)
      arrived += 1
      if (arrived === 1) setImmediate(post)
    })
  }).listen(port, '127.0.0.1')
}

function write(file: string): void {
  const descriptor = openSync(file, 'w')
  const bytes = Buffer.alloc(WRITE_BYTES, 1)
  let at = 0
  parentPort?.on('message', (count: number) => {
    writeSync(descriptor, bytes, 0, WRITE_BYTES, at)
    fdatasyncSync(descriptor)
    at = (at + WRITE_BYTES) % FILE_BYTES
    parentPort?.postMessage(count)
  })
  process.on('exit', () => closeSync(descriptor))
}

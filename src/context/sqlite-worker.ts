import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { runWriter, type WriterData } from '../database/sqlite-writer.ts'
import { createTables } from './tables.ts'

runWriter(parentPort as MessagePort, workerData as WriterData, createTables)

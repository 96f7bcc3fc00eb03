import { parentPort, workerData } from 'node:worker_threads'
import { withSqliteScan } from '../store/audit-scan.ts'
import { type StatementOptions, verifyStatements } from './verify-statements.ts'

const { path, options } = workerData as { path: string; options: StatementOptions }

parentPort?.postMessage(await withSqliteScan(path, (scan) => verifyStatements(scan, options)))

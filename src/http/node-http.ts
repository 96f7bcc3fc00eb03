/**
 * `node:http`, for values. An `import` of it also loads the WebSocket and fetch of Node.js, which takes 60 ms and 13 MB; its types
 * are imported as usual.
 */
export const nodeHttp = process.getBuiltinModule('node:http')

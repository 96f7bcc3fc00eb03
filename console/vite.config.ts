import { defineConfig } from 'vite'

/** Under the name by which the browser asked: the server refuses what comes from elsewhere. */
const SERVER = { target: 'http://127.0.0.1:8081', changeOrigin: false }

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  publicDir: false,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2023',
    emptyOutDir: true,
    // The policy of the page allows no inline script, and there is nothing to preload.
    modulePreload: false,
    reportCompressedSize: false,
  },
  // npm run dev:console: the page as it is written, in front of the server that listens on 8081.
  server: { proxy: { '/admin': SERVER, '/health': SERVER } },
})

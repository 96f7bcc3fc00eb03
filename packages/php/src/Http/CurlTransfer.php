<?php

declare(strict_types=1);

namespace Tabbat\Http;

use CurlHandle;
use CurlMultiHandle;
use Generator;
use Tabbat\TabbatException;

/** One request of cURL. The response is read as far as it is asked for. @internal */
final class CurlTransfer
{
    private const MAX_WAIT_S = 1.0;

    public readonly CurlReception $reception;
    private readonly CurlHandle $handle;
    /** Null until it has ended, then the code of cURL. */
    private ?int $result = null;
    private float $endsAt;
    /** For a stream: the longest wait for more of it. */
    private readonly ?float $waitS;

    /** @param array<int, mixed> $options */
    public function __construct(
        private readonly CurlMultiHandle $connections,
        #[\SensitiveParameter] Request $request,
        #[\SensitiveParameter] array $options,
        float $timeoutS,
    ) {
        $this->waitS = $request->isStream ? ($request->waitS ?? $timeoutS) : null;
        $this->handle = curl_init();
        // The functions belong to another object: with those of this one, handle and object would keep each other alive.
        $this->reception = new CurlReception();
        $this->endsAt = hrtime(true) / 1e9 + $timeoutS;
        $limitMs = max(1, (int) ceil($timeoutS * 1000));
        curl_setopt_array($this->handle, $options + [
            CURLOPT_URL => $request->url,
            CURLOPT_CUSTOMREQUEST => $request->method,
            CURLOPT_HTTPHEADER => self::toLines($request->headers()),
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            // None that the environment names: it would get keys and people.
            CURLOPT_PROXY => '',
            CURLOPT_NOSIGNAL => true,
            CURLOPT_SUPPRESS_CONNECT_HEADERS => true,
            CURLOPT_CONNECTTIMEOUT_MS => $limitMs,
            CURLOPT_TIMEOUT_MS => $request->isStream ? 0 : $limitMs,
            CURLOPT_HEADERFUNCTION => $this->reception->onHeader(...),
            CURLOPT_WRITEFUNCTION => $this->reception->onBody(...),
        ]);
        if ($request->body() !== null) {
            curl_setopt($this->handle, CURLOPT_POSTFIELDS, $request->body());
        }
        curl_multi_add_handle($connections, $this->handle);
    }

    /** Gives the connection back, or closes it if the response was not read to its end. */
    public function __destruct()
    {
        curl_multi_remove_handle($this->connections, $this->handle);
    }

    public function readHead(): void
    {
        while (!$this->reception->hasHead && $this->result === null) {
            $this->advance();
        }
        if (!$this->reception->hasHead) {
            throw $this->toException();
        }
    }

    /** @return Generator<string> */
    public function pieces(): Generator
    {
        $this->extendTime();
        while (true) {
            if ($this->reception->body !== '') {
                yield $this->reception->take();
                $this->extendTime();
            } elseif ($this->result === null) {
                $this->advance();
            } elseif ($this->result === CURLE_OK) {
                return;
            } else {
                throw $this->toException();
            }
        }
    }

    /** An error instead of a stream has no more time than any response. */
    private function extendTime(): void
    {
        if ($this->waitS !== null && $this->reception->status < 300) {
            $this->endsAt = hrtime(true) / 1e9 + $this->waitS;
        }
    }

    /** Lets cURL work, and waits for the network if there was nothing to do. */
    private function advance(): void
    {
        $leftS = $this->endsAt - hrtime(true) / 1e9;
        if ($leftS <= 0) {
            $this->result = CURLE_OPERATION_TIMEDOUT;
            return;
        }
        curl_multi_exec($this->connections, $running);
        while ($message = curl_multi_info_read($this->connections)) {
            if ($message['handle'] === $this->handle) {
                $this->result = $message['result'];
            }
        }
        if ($this->result === null && $this->reception->body === '') {
            $isWaiting = curl_multi_select($this->connections, min($leftS, self::MAX_WAIT_S)) >= 0;
            if (!$isWaiting) {
                usleep(1000);
            }
        }
    }

    private function toException(): TabbatException
    {
        // The texts of curl_strerror are constant. Those of curl_error quote addresses.
        return $this->result === CURLE_OPERATION_TIMEDOUT
            ? TabbatException::timeout()
            : TabbatException::networkError("cURL error $this->result: " . curl_strerror((int) $this->result));
    }

    /** @return list<string> */
    private static function toLines(#[\SensitiveParameter] array $headers): array
    {
        // Without Expect, cURL would wait for a 100 before a large body.
        $lines = ['Expect:'];
        foreach ($headers as $name => $value) {
            $lines[] = "$name: $value";
        }
        return $lines;
    }
}

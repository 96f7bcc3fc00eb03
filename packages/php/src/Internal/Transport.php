<?php

declare(strict_types=1);

namespace Tabbat\Internal;

use Generator;
use Tabbat\Hidden;
use Tabbat\Http\HttpClient;
use Tabbat\Http\Request;
use Tabbat\Http\Response;
use Tabbat\Record;
use Tabbat\TabbatException;

/** Sends calls with one deadline each, and repeats what may succeed later. @internal */
final class Transport
{
    /** No response of Tabbat is as large. That to a large body, a batch, tells of every refused row. */
    private const MAX_RESPONSE_BYTES = 8 * 1024 * 1024;
    private const MAX_LARGE_RESPONSE_BYTES = 128 * 1024 * 1024;
    private const MAX_TIME_S = 2_147_483;
    /** A retry with less time would end as a timeout, and hide the error before it. Shorter calls have a quarter of their time. */
    private const LEAST_TIME_S = 1.0;

    public readonly string $baseUrl;
    private readonly Hidden $key;

    public function __construct(
        #[\SensitiveParameter] string $key,
        string $baseUrl,
        private readonly float $timeoutS,
        private readonly float $attemptTimeoutS,
        private readonly int $maxRetries,
        private readonly HttpClient $http,
    ) {
        if (!preg_match('/^[\x21-\x7e]+$/D', $key)) {
            throw TabbatException::invalidArgument('key must be an API key: tbt_test_… or tbt_live_…');
        }
        if ($maxRetries < 0) {
            throw TabbatException::invalidArgument('maxRetries must be a whole number from 0.');
        }
        self::checkTime('timeoutS', $timeoutS);
        self::checkTime('attemptTimeoutS', $attemptTimeoutS);
        $this->key = new Hidden($key);
        $this->baseUrl = self::readBaseUrl($baseUrl);
    }

    public function send(#[\SensitiveParameter] Call $call): Answer
    {
        $timeoutS = $call->timeoutS ?? $this->timeoutS;
        self::checkTime('timeoutS', $timeoutS);
        $endsAt = self::now() + $timeoutS;
        $leastS = min(self::LEAST_TIME_S, $this->attemptTimeoutS, $timeoutS / 4);
        for ($retries = 0; ; $retries++) {
            $leftS = max(0.001, $endsAt - self::now());
            $answer = $this->attempt($call, $call->isLarge ? $leftS : min($leftS, $this->attemptTimeoutS));
            if ($answer instanceof Answer) {
                return $answer;
            }
            $delayS = Retry::toDelayS($retries, $answer->retryAfterS);
            if (!$answer->retryable || $retries >= $this->maxRetries || self::now() + $delayS + $leastS > $endsAt) {
                throw $answer;
            }
            self::wait($delayS);
            if (self::now() + $leastS > $endsAt) {
                throw $answer;
            }
        }
    }

    /**
     * The objects of an NDJSON body, as they arrive. A body that breaks is asked for again, and what was given before is left out: the
     * server sends the same objects in the same order. The time of the call is for the beginning of a response, and for each wait for
     * more of it.
     *
     * @return Generator<int, Record>
     */
    public function stream(Call $call): Generator
    {
        $given = 0;
        for ($retries = 0; ; $retries++) {
            $answer = $this->send($call);
            $seen = 0;
            try {
                foreach (self::readLines($answer) as $line) {
                    $seen++;
                    if ($seen > $given) {
                        [$given, $retries] = [$seen, 0];
                        yield $seen - 1 => self::readRecord($line, $answer->status);
                    }
                }
                return;
            } catch (TabbatException $error) {
                if (!$error->retryable || $retries >= $this->maxRetries) {
                    throw $error;
                }
            }
            unset($answer);
            self::wait(Retry::toDelayS($retries));
        }
    }

    private function attempt(#[\SensitiveParameter] Call $call, float $timeoutS): Answer|TabbatException
    {
        $headers = ['accept' => 'application/json', ...$call->headers, 'authorization' => 'Bearer ' . $this->key->get()];
        $waitS = $call->isStream ? ($call->timeoutS ?? $this->timeoutS) : null;
        $request = new Request($call->method, $this->baseUrl . $call->path, $headers, $call->body, $call->isStream, $waitS);
        try {
            return self::readAnswer($this->http->send($request, $timeoutS), $call);
        } catch (TabbatException $error) {
            return $error;
        }
    }

    private static function readAnswer(Response $response, #[\SensitiveParameter] Call $call): Answer|TabbatException
    {
        [$status, $headers] = [$response->status, $response->headers];
        $isOk = $status >= 200 && $status < 300;
        if ($isOk && $call->isStream) {
            return new Answer($status, $headers, null, $response->pieces());
        }
        $maxBytes = $call->isLarge ? self::MAX_LARGE_RESPONSE_BYTES : self::MAX_RESPONSE_BYTES;
        $text = '';
        foreach ($response->pieces() as $piece) {
            $text .= $piece;
            if (strlen($text) > $maxBytes) {
                return TabbatException::unexpectedResponse($status);
            }
        }
        $body = json_decode($text, true);
        $answer = new Answer($status, $headers, $body);
        if ($isOk && ($status === 204 || is_array($body))) {
            return $answer;
        }
        $error = ResponseError::read($status, $headers, $body, $call->sent);
        return $call->isResult !== null && ($call->isResult)($error) ? $answer : $error;
    }

    /** @return Generator<string> */
    private static function readLines(Answer $answer): Generator
    {
        $rest = '';
        foreach ($answer->pieces as $piece) {
            $lines = explode("\n", $rest . $piece);
            $rest = array_pop($lines);
            if (strlen($rest) > self::MAX_RESPONSE_BYTES) {
                throw TabbatException::unexpectedResponse($answer->status);
            }
            foreach ($lines as $line) {
                if ($line !== '') {
                    yield $line;
                }
            }
        }
        if ($rest !== '') {
            yield $rest;
        }
    }

    private static function readRecord(#[\SensitiveParameter] string $line, int $status): Record
    {
        $value = json_decode($line, true);
        return is_array($value) ? new Record($value) : throw TabbatException::unexpectedResponse($status);
    }

    /** A signal may end usleep early. */
    private static function wait(float $seconds): void
    {
        $endsAt = self::now() + $seconds;
        while (($leftS = $endsAt - self::now()) > 0) {
            usleep((int) ceil($leftS * 1e6));
        }
    }

    private static function now(): float
    {
        return hrtime(true) / 1e9;
    }

    private static function checkTime(string $name, float $value): void
    {
        if (!($value > 0 && $value <= self::MAX_TIME_S)) {
            throw TabbatException::invalidArgument("$name must be a number of seconds above 0.");
        }
    }

    private static function readBaseUrl(string $baseUrl): string
    {
        $url = preg_match('/^[\x21-\x7e]+$/D', $baseUrl) ? parse_url($baseUrl) : false;
        $isPlain = is_array($url) && array_diff_key($url, array_flip(['scheme', 'host', 'port', 'path'])) === [];
        if (!$isPlain || !in_array($url['scheme'] ?? '', ['http', 'https'], true) || ($url['host'] ?? '') === '') {
            throw TabbatException::invalidArgument('baseUrl must be an http or https address without credentials, query and hash.');
        }
        $base = rtrim($baseUrl, '/');
        if (str_ends_with($base, '/api/v2')) {
            throw TabbatException::invalidArgument('baseUrl must not end in /api/v2: the client adds it.');
        }
        return $base;
    }
}

<?php

declare(strict_types=1);

namespace Tabbat\Http;

use Psr\Http\Client\ClientExceptionInterface;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\StreamFactoryInterface;
use RuntimeException;
use Tabbat\TabbatException;

/**
 * A client of PSR-18, for example Guzzle. PSR-18 has no timeouts: set one in the client, shorter than timeoutS. Until it is over, a request is
 * not ended by the time of the call. Redirects must be off, which they are in sendRequest of Guzzle and Symfony.
 */
final class Psr18HttpClient implements HttpClient
{
    private const PIECE_BYTES = 65_536;

    public function __construct(
        private readonly ClientInterface $client,
        private readonly RequestFactoryInterface $requests,
        private readonly StreamFactoryInterface $streams,
    ) {
    }

    public function send(Request $request, float $timeoutS): Response
    {
        $message = $this->requests->createRequest($request->method, $request->url);
        foreach ($request->headers() as $name => $value) {
            $message = $message->withHeader($name, $value);
        }
        if ($request->body() !== null) {
            $message = $message->withBody($this->streams->createStream($request->body()));
        }
        try {
            $response = $this->client->sendRequest($message);
        } catch (ClientExceptionInterface) {
            // Not as the previous exception: its text could quote the request.
            throw TabbatException::networkError();
        }
        $headers = array_map(static fn (array $values): string => implode(', ', $values), $response->getHeaders());
        return new Response($response->getStatusCode(), array_change_key_case($headers), self::read($response));
    }

    /** @return iterable<string> */
    private static function read(ResponseInterface $response): iterable
    {
        $body = $response->getBody();
        $expected = $response->hasHeader('Content-Length') ? (int) $response->getHeaderLine('Content-Length') : 0;
        $size = 0;
        while (!$body->eof()) {
            try {
                $piece = $body->read(self::PIECE_BYTES);
            } catch (RuntimeException) {
                throw TabbatException::networkError();
            }
            $size += strlen($piece);
            yield $piece;
        }
        if ($size < $expected) {
            throw TabbatException::networkError();
        }
    }
}

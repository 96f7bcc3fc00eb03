<?php

declare(strict_types=1);

namespace Tabbat\Http;

use CurlMultiHandle;
use Tabbat\Hidden;

/** The default: the extension curl. Connections are kept between requests. */
final class CurlHttpClient implements HttpClient
{
    private ?CurlMultiHandle $connections = null;
    private int $processId = 0;
    /** They may have the password of a key. */
    private readonly Hidden $options;

    /** @param array<int, mixed> $options Of cURL, for example [CURLOPT_CAINFO => '/etc/ssl/own-ca.pem']. */
    public function __construct(#[\SensitiveParameter] array $options = [])
    {
        $this->options = new Hidden($options);
    }

    public function send(Request $request, float $timeoutS): Response
    {
        // A stream has connections of its own: other requests may be sent while it is read.
        $connections = $request->isStream ? curl_multi_init() : $this->connections();
        $transfer = new CurlTransfer($connections, $request, $this->options->get(), $timeoutS);
        $transfer->readHead();
        return new Response($transfer->reception->status, $transfer->reception->headers, $transfer->pieces());
    }

    private function connections(): CurlMultiHandle
    {
        // After a fork, the connections belong to the parent.
        if ($this->connections === null || $this->processId !== getmypid()) {
            $this->connections = curl_multi_init();
            $this->processId = (int) getmypid();
        }
        return $this->connections;
    }
}

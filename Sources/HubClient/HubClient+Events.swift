package import HubProtocol
import OutboundHTTP

extension HubClient {
    /// Opens the event stream of a `stream` installation.
    ///
    /// `after` is the cursor: the last event id that is safely stored; `nil` starts at the installation's creation.
    ///
    /// - Throws: ``HubError/refused(status:code:detail:retryAfter:)`` with 404 also when the secret is wrong.
    package func events(
        installation id: InstallationID,
        channel: PushChannelSecret,
        after: String?
    ) async throws(HubError) -> HubEventStream {
        let request = eventRequest(installation: id, channel: channel, after: after)
        let result: Result<HubEventStream, HubError>
        do throws(OutboundError) {
            result = try await open(http.stream(request))
        } catch {
            throw HubError(error)
        }
        return try result.get()
    }

    private func eventRequest(
        installation id: InstallationID,
        channel: PushChannelSecret,
        after: String?
    ) -> OutboundRequest {
        var call = HubCall("GET", path(id) + "/stream")
        call.channel = channel
        call.headers = [("Accept", "text/event-stream"), ("Cache-Control", "no-cache")]
        if let after { call.headers.append((HeaderName.lastEventID, after)) }
        var request = request(call)
        request.totalTimeout = nil
        request.idleTimeout = HubEventStream.idleTimeout
        return request
    }

    /// The event stream of a reply, or the refusal that it contains.
    private func open(
        _ reply: OutboundStream
    ) async throws(OutboundError) -> Result<HubEventStream, HubError> {
        if reply.status == 200 {
            let type = reply.headers["Content-Type"] ?? "none"
            if type.lowercased().hasPrefix("text/event-stream") { return .success(HubEventStream(reply)) }
            return .failure(.malformedReply("the stream's content type is '\(type)'"))
        }
        var words = ""
        do throws(OutboundError) {
            words = try await reply.text(limit: ProtocolError.maximumXMLBytes)
        } catch .cancelled {
            throw .cancelled
        } catch {
            // A refusal counts even if its text does not arrive.
        }
        return .failure(HubError(status: reply.status, headers: reply.headers, body: words, now: unixTime))
    }
}

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
        let reply: OutboundStream
        do throws(OutboundError) {
            reply = try await http.stream(eventRequest(installation: id, channel: channel, after: after))
        } catch {
            throw HubError(error)
        }
        guard reply.status != 200 else {
            let type = reply.headers["Content-Type"] ?? "none"
            if type.lowercased().hasPrefix("text/event-stream") { return HubEventStream(reply) }
            throw .malformedReply("the stream's content type is '\(type)'")
        }
        var words = ""
        do throws(OutboundError) {
            words = try await reply.text(limit: ProtocolError.maximumXMLBytes)
        } catch .cancelled {
            throw .cancelled
        } catch {
            // A refusal counts even if its text does not arrive.
        }
        throw HubError(status: reply.status, headers: reply.headers, body: words, now: unixTime)
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
}

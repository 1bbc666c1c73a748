package import HubProtocol
import OutboundHTTP

/// Which registrations a list is of.
package enum RegistrationSelection: Sendable {
    case all
    case tag(Tag)
    /// Those of a push handle.
    case handle(String)
}

/// A page of a list.
package struct RegistrationListPage: Sendable {
    package let answer: RegistrationAnswer
    /// Where the next page begins, in the hub's own words; `nil` on the last one.
    package let next: String?
}

extension HubClient {
    /// - Returns: `nil` when the hub has none of this id.
    package func registration(_ id: RegistrationID) async throws(HubClientError) -> RegistrationAnswer? {
        var call = HubCall("GET", "/registrations/\(HubCall.segment(id.text))")
        call.maximumReplyBytes = Self.maximumPageBytes
        guard let reply = try await succeed(call, unless: [404]) else { return nil }
        return try answer(in: reply)
    }

    /// Reads a page of registrations; the key must grant Manage, for those of a handle Listen is enough.
    ///
    /// - Parameters:
    ///   - selection: Which ones.
    ///   - start: ``RegistrationListPage/next`` of the page before, `nil` for the first one.
    /// - Returns: The page; its registrations may be none although more follow.
    /// - Throws: Refusals, and ``HubClientError/malformedReply(_:)`` for what is no list.
    package func registrations(
        _ selection: RegistrationSelection,
        from start: String? = nil
    ) async throws(HubClientError) -> RegistrationListPage {
        var call: HubCall
        switch selection {
        case .all: call = HubCall("GET", "/registrations")
        case .tag(let tag): call = HubCall("GET", "/tags/\(HubCall.segment(tag.text))/registrations")
        case .handle(let handle):
            call = HubCall("GET", "/registrations")
            // What .NET and Java call the handle on every platform (protocol §3.5).
            call.query.append(("$filter", "ChannelUri eq '\(handle.replacing("'", with: "''"))'"))
        }
        call.continuation = start
        call.maximumReplyBytes = Self.maximumPageBytes
        let reply = try await succeed(call)
        let next = reply.headers[HeaderName.continuationToken].flatMap { $0.isEmpty ? nil : $0 }
        guard next == nil || next != start, next?.utf8.allSatisfy(Self.isOfToken) != false else {
            throw .malformedReply("the list's continuation token leads nowhere")
        }
        return RegistrationListPage(answer: try answer(in: reply), next: next)
    }

    private func answer(in reply: OutboundResponse) throws(HubClientError) -> RegistrationAnswer {
        do {
            return try RegistrationAnswer(reply.body)
        } catch {
            throw .malformedReply("its registrations cannot be read: \(error.detail)")
        }
    }

    /// Whether a byte may stand in a query as it is: there a token goes as it came (protocol §3.4).
    private static func isOfToken(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && !#"&#"<>\"#.utf8.contains(byte)
    }

    /// A hundred registrations of 64 KiB, and what is around them.
    private static let maximumPageBytes = 8 << 20
}

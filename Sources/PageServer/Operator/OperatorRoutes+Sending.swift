import Foundation
import HTTPTypes
import HubProtocol
import HubServer
import Hummingbird
import WebEdge
import WebPages

/// Sending a message: a form, a preview with the number of recipients, and the confirmed form.
extension OperatorRoutes {
    /// The number of random bytes of an idempotency key.
    private static let keyBytes = 18
    /// The number of characters of an idempotency key from a preview.
    private static let keyLength = 24
    /// The largest number of characters of a title in the audit log.
    private static let auditedTitle = 120

    static func sendForm(_ request: OperatorRequest) async throws -> Response {
        let category = request.query["category"]
        let fields = OperatorSendPage.Fields(
            audience: category.map(OperatorSendPage.audience(ofCategory:)) ?? OperatorSendPage.matching
        )
        return request.base.page(try await page(fields, request))
    }

    static func preview(_ request: OperatorRequest) async throws -> Response {
        let fields = OperatorSendPage.Fields(try await request.base.form())
        var page = try await page(fields, request)
        do throws(ProtocolError) {
            let draft = try OperatorDraft(fields)
            if let date = draft.date { try ScheduleTime(date).check(now: request.base.now.date) }
            page.preview = try await preview(draft, request)
        } catch {
            page.refusal = error.detail
            return request.base.page(page, status: .badRequest)
        }
        return request.base.page(page)
    }

    /// Counts the recipients, and creates the key of the confirmed form.
    private static func preview(
        _ draft: OperatorDraft,
        _ request: OperatorRequest
    ) async throws(ProtocolError) -> OperatorSendPage.Preview {
        let counts: RecipientCounts
        do throws(HubError) {
            counts = try await request.hub.recipients(tags: draft.tags ?? "")
        } catch {
            throw .badRequest("\(error)")
        }
        return OperatorSendPage.Preview(
            key: Base64URL.encode(RandomBytes.make(count: keyBytes)),
            audience: draft.audience,
            recipients: words.counts(counts.platforms, none: "nobody"),
            hasRecipients: counts.total != 0,
            time: draft.date.map { words.time(Timestamp($0)) },
            shown: NewsText(draft.properties)
        )
    }

    /// Sends once, even if the form arrives several times: the hub recognizes a repeat by its key.
    static func send(_ request: OperatorRequest) async throws -> Response {
        let form = try await request.base.form()
        guard let key = form["key"], key.utf8.count == keyLength, Base64URL.decode(key) != nil else {
            throw request.refusal(.badRequest, "Nothing was sent", "The form has no preview. Begin again.")
        }
        let fields = OperatorSendPage.Fields(form)
        let draft: OperatorDraft
        do throws(ProtocolError) {
            draft = try OperatorDraft(fields)
        } catch {
            throw request.refusal(.badRequest, "Nothing was sent", error.detail)
        }
        let title = NewsText(draft.properties).title.prefix(auditedTitle)
        let message = draft.message(key: key)
        let id = try await request.perform(
            draft.date == nil ? "send" : "schedule",
            "to \(draft.audience): \(title)",
            outcome: { (id: MessageID?) in id.map { "message \($0)" } ?? "accepted" },
            {
                // The hub refuses a time in the past, unless the request repeats one that was in time.
                guard let date = draft.date else { return try await request.hub.send(message) }
                return try await request.hub.schedule(message, at: date)
            }
        )
        guard let id else { return request.base.seeOther("\(request.root)messages") }
        return request.base.seeOther("\(request.root)messages/\(id)")
    }

    private static func page(
        _ fields: OperatorSendPage.Fields,
        _ request: OperatorRequest
    ) async throws -> OperatorSendPage {
        let known = try await request.hub.categories()
        var audiences = [
            (OperatorSendPage.matching, "Devices that match the tag expression"),
            (OperatorSendPage.everybody, "Everybody"),
        ]
        audiences += known.map { (OperatorSendPage.audience(ofCategory: $0), $0) }
        // A message can still be sent to a category that is no longer announced.
        if let other = OperatorSendPage.category(of: fields.audience), !known.contains(other) {
            audiences.append((fields.audience, other))
        }
        return OperatorSendPage(
            request.nav(.send),
            frame: request.frame,
            action: "\(request.root)send",
            fields: fields,
            audiences: audiences.map { .init(value: $0, label: $1, isSelected: $0 == fields.audience) }
        )
    }
}

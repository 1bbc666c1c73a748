import Formats
import Foundation
import HTTPTypes
import HubProtocol
import HubServer
import Hummingbird
import WebEdge
import WebPages

/// The desk: a form, a preview with the recipients, and the confirmed form, for new messages, corrections and
/// withdrawals.
extension OperatorRoutes {
    /// The number of random bytes of an idempotency key.
    private static let keyBytes = 18
    /// The number of characters of an idempotency key from a preview.
    private static let keyLength = 24
    /// The largest number of characters of a title in the audit log.
    private static let auditedTitle = 120
    /// The largest number of categories whose listeners are counted.
    private static let countedCategories = 20
    /// The time in which the same title is probably the same news, and the number of messages that are compared.
    private static let repeats = (within: Duration.seconds(600), messages: 20)

    static func sendForm(_ request: OperatorRequest) async throws -> Response {
        var fields = OperatorSendPage.Fields()
        fields.categories = request.query.all("category")
        for (name, status) in [("correct", MessageStatus.correction), ("withdraw", .withdrawn)] {
            guard let id = request.query[name] else { continue }
            (fields.original, fields.status) = (id, status.rawValue)
        }
        if let id = request.query["draft"] {
            let draft = try await stored(id, request)
            fields = draft.fields
            fields.draft = "\(draft.id)"
            return request.base.page(try await page(fields, try await originals(of: fields, request), request))
        }
        let originals = try await originals(of: fields, request)
        if let first = originals.first, fields.status == MessageStatus.correction.rawValue {
            let text = first.properties[.summary] ?? first.properties[.messageParam] ?? ""
            fields.title = first.properties[.title] ?? text
            fields.text = text == fields.title ? "" : text
            fields.link = first.properties[.link] ?? ""
        }
        return request.base.page(try await page(fields, originals, request))
    }

    static func preview(_ request: OperatorRequest) async throws -> Response {
        let fields = OperatorSendPage.Fields(try await request.base.form())
        let originals = try await originals(of: fields, request)
        var page = try await page(fields, originals, request)
        do throws(ProtocolError) {
            let key = newKey()
            let draft = try OperatorDraft(fields, replacing: originals, key: key)
            try request.check(draft)
            if let date = draft.date { try ScheduleTime(date).check(now: request.base.now.date) }
            page.preview = try await preview(draft, fields, key: key, request)
        } catch {
            page.refusal = error.detail
            return request.base.page(page, status: .badRequest)
        }
        return request.base.page(page)
    }

    static func newKey() -> String { Base64URL.encode(RandomBytes.make(count: keyBytes)) }

    /// Counts the recipients, and looks for reasons not to send.
    ///
    /// For a message that waits for approval, `approval` is the address of the form; it has no button if the reader may
    /// not approve.
    static func preview(
        _ draft: OperatorDraft,
        _ fields: OperatorSendPage.Fields,
        key: String,
        _ request: OperatorRequest,
        approval: String? = nil,
        mayApprove: Bool = false
    ) async throws(ProtocolError) -> OperatorSendPage.Preview {
        var (lines, total): ([String], Int) = ([], 0)
        var warnings: [String] = []
        let rendered: [ReportFact]
        do throws(HubError) {
            for part in draft.parts {
                let counts = try await request.hub.recipients(tags: part.tags ?? "")
                let text = words.counts(counts.platforms, none: "nobody")
                lines.append(draft.parts.count == 1 ? text : "\(part.audience): \(text)")
                total += counts.total
                if counts.total == 0 { warnings.append("Nobody is registered for \(part.audience).") }
            }
            if fields.original.isEmpty, let former = try await repeated(draft.shown.title, request) {
                warnings.append("A message with this title was sent at \(words.time(former.acceptedAt)).")
            }
            let first = draft.parts.first
            let templates = try await TemplatePreview(of: first?.tags, request.hub)
            rendered = templates.facts(first?.properties ?? MessageProperties([:]))
        } catch {
            throw .badRequest("\(error)")
        }
        let first = draft.parts.first?.properties ?? MessageProperties([:])
        let version = StoryVersion(
            sequence: .start,
            at: request.base.now,
            message: "",
            body: first.encoded(),
            scope: ""
        )
        let verb = MessageStatus(rawValue: fields.status)?.verb ?? "Send"
        let needsApproval = draft.isUrgent && request.base.appearance.approvesUrgent
        let now = draft.date == nil ? "\(verb) now" : "Schedule"
        var button: String? = needsApproval ? "Ask for approval" : now
        if approval != nil {
            button = mayApprove ? "Approve: \(now)" : nil
        } else if needsApproval, (try? await request.base.deskUser) == nil {
            warnings.append("An urgent message needs two accounts: sign in with one that may use the desk.")
            button = nil
        }
        return OperatorSendPage.Preview(
            key: key,
            facts: [
                ReportFact("To", draft.audience),
                ReportFact("Recipients", lines.joined(separator: "\n"), isBad: total == 0),
                ReportFact("When", draft.date.map { words.time(Timestamp($0)) } ?? "at once"),
                ReportFact("Link", draft.shown.link), ReportFact("Urgency", draft.urgency),
                ReportFact("Approval", needsApproval ? "by a second account, within a day" : nil),
            ],
            warnings: warnings,
            shown: draft.shown,
            view: version.map { MessageView($0, newAfter: nil) } ?? .blank,
            rendered: rendered,
            action: approval ?? "\(request.root)send/confirmed",
            button: button
        )
    }

    /// The last message with this title, if it was accepted a short time ago.
    private static func repeated(
        _ title: String,
        _ request: OperatorRequest
    ) async throws(HubError) -> MessageReport? {
        let since = (request.base.now - repeats.within).wholeSecond
        return try await request.hub.messages(before: .end, count: repeats.messages)
            .first { $0.title == title && $0.acceptedAt >= since }
    }

    /// Sends once, even if the form arrives several times: the hub recognizes a repeat by its key.
    static func send(_ request: OperatorRequest) async throws -> Response {
        let form = try await request.base.form()
        guard let key = form["key"], key.utf8.count == keyLength, Base64URL.decode(key) != nil else {
            throw request.refusal(.badRequest, "Nothing was sent", "The form has no preview. Begin again.")
        }
        let fields = OperatorSendPage.Fields(form)
        let originals = try await originals(of: fields, request)
        let draft: OperatorDraft
        do throws(ProtocolError) {
            draft = try OperatorDraft(fields, replacing: originals, key: key)
            try request.check(draft)
        } catch {
            throw request.refusal(.badRequest, "Nothing was sent", error.detail)
        }
        if draft.isUrgent, request.base.appearance.approvesUrgent {
            return try await askForApproval(draft, fields, key: key, request)
        }
        let response = try await send(draft, fields, request)
        // It is sent, whatever becomes of its draft.
        try? await request.base.pages.store.endReplaced(fields, by: request.acting)
        return response
    }

    /// Sends each part of a message.
    static func send(
        _ draft: OperatorDraft,
        _ fields: OperatorSendPage.Fields,
        _ request: OperatorRequest
    ) async throws -> Response {
        let title = draft.shown.title.prefix(auditedTitle)
        let action = MessageStatus(rawValue: fields.status)?.verb.lowercased() ?? "send"
        var ids: [MessageID] = []
        for part in draft.parts {
            let id = try await request.perform(
                draft.date == nil ? action : "schedule",
                "to \(part.audience): \(title)",
                outcome: { (id: MessageID?) in id.map { "message \($0)" } ?? "accepted" },
                {
                    // The hub refuses a time in the past, unless the request repeats one that was in time.
                    guard let date = draft.date else { return try await request.hub.send(part.message) }
                    return try await request.hub.schedule(part.message, at: date)
                }
            )
            if let id { ids.append(id) }
        }
        if request.isOnDeskOnly {
            return request.base.seeOther("\(request.root)\(draft.date == nil ? "drafts" : "scheduled")")
        }
        guard let id = ids.first, draft.parts.count == 1 else {
            return request.base.seeOther("\(request.root)\(draft.date == nil ? "messages" : "scheduled")")
        }
        return request.base.seeOther("\(request.root)messages/\(id)")
    }

    /// The messages that a correction or a withdrawal replaces: the named one, and those that say the same to other
    /// categories.
    ///
    /// - Throws: ``PageRefusal`` for a message that cannot be replaced.
    static func originals(
        of fields: OperatorSendPage.Fields,
        _ request: OperatorRequest
    ) async throws -> [SentStory] {
        guard !fields.original.isEmpty else { return [] }
        guard let id = try? MessageID(fields.original),
            [.correction, .withdrawn].contains(MessageStatus(rawValue: fields.status))
        else {
            throw request.refusal(.badRequest, "Nothing was sent", "The form names no message. Begin again.")
        }
        let report = try await request.hub.report(on: id)
        do {
            let story = try SentStory(report)
            return try await request.hub.sameVersion(as: story, near: report.position ?? .end)
        } catch let refusal as SentStory.Refusal {
            throw request.refusal(.badRequest, "This message cannot be replaced", "It \(refusal).")
        }
    }

    static func page(
        _ fields: OperatorSendPage.Fields,
        _ originals: [SentStory],
        _ request: OperatorRequest
    ) async throws -> OperatorSendPage {
        var names: [String] = []
        if originals.isEmpty {
            let known = try await request.hub.categories()
            // A message can still be sent to a category that is no longer announced.
            names = (known + fields.categories).distinct { $0.lowercased() }
        }
        var categories: [OperatorSendPage.Category] = []
        for (place, name) in names.enumerated() {
            let tag = try? Tag(name)
            let isCounted = place < countedCategories && tag.map(request.mayCount) ?? false
            let count = isCounted ? try await request.hub.recipients(tags: name).total : nil
            categories.append(
                OperatorSendPage.Category(
                    name: name,
                    isChosen: fields.categories.contains { $0.lowercased() == name.lowercased() },
                    listeners: count.map { "\($0)" }
                )
            )
        }
        var page = OperatorSendPage(
            request.nav(.send),
            frame: request.frame,
            action: "\(request.root)send",
            fields: fields,
            categories: categories
        )
        if let first = originals.first, let status = MessageStatus(rawValue: fields.status) {
            page.heading = "\(status.verb) “\(NewsText(first.properties).title)”"
        }
        return page
    }
}

extension MessageStatus {
    /// The action that sends such a message.
    fileprivate var verb: String {
        switch self {
        case .update: "Update"
        case .correction: "Correct"
        case .withdrawn: "Withdraw"
        }
    }
}

import Crypto
import Formats
import Foundation
import HTTPTypes
import HubProtocol
import HubServer
import Hummingbird
import WebEdge
import WebPages

/// Drafts of the desk, and messages that wait for the approval of a second account.
extension OperatorRoutes {
    /// The number of sent messages on the page.
    private static let shownSent = 20

    static func drafts(_ request: OperatorRequest) async throws -> Response {
        let drafts = try await request.base.pages.store.drafts(of: request.hub.name, at: request.base.now)
        let sent = try await request.hub.messages(before: .end, count: shownSent)
        let waiting = drafts.filter(\.isWaiting)
        var sections: [OperatorSection] = []
        if request.base.appearance.approvesUrgent || !waiting.isEmpty {
            sections.append(
                section("Waiting for approval", waiting, "State", "No message waits for approval.", request) { draft in
                    let state = draft.approver.map { "approved by \($0), not sent" }
                    return ("drafts/\(draft.id)", state ?? "until \(words.time(draft.expiresAt))", "Withdraw")
                }
            )
        }
        let none = "There are no drafts. Save one while you write a message."
        sections.append(
            section("Drafts", drafts.filter { !$0.isWaiting }, "Saved", none, request) { draft in
                ("send?draft=\(draft.id)", words.time(draft.createdAt), "Delete")
            }
        )
        return request.answer(.drafts, "Drafts and sent", sections + [sentSection(sent, request)])
    }

    /// A list of drafts, each with its page, its state, and the button that deletes it.
    private static func section(
        _ title: String,
        _ drafts: [DeskDraft],
        _ column: String,
        _ empty: String,
        _ request: OperatorRequest,
        row: (DeskDraft) -> (page: String, state: String, button: String)
    ) -> OperatorSection {
        let rows = drafts.map { draft -> [OperatorTable.Cell] in
            let (page, state, button) = row(draft)
            return [
                .init(self.title(of: draft), link: "\(request.root)\(page)"), .init(draft.author), .init(state),
                .init(button: button, action: "\(request.root)drafts/\(draft.id)/delete"),
            ]
        }
        return OperatorSection(
            title,
            table: OperatorTable(title, ["Title", "By", column, "Action"], rows, empty: empty)
        )
    }

    private static func sentSection(_ sent: [MessageReport], _ request: OperatorRequest) -> OperatorSection {
        let rows = sent.filter(request.mayShow).map { message -> [OperatorTable.Cell] in
            // The form says why not where a list cannot.
            let canBeReplaced =
                message.format == nil && message.withheld == nil && message.isTest != true
                && ![.scheduled, .canceled].contains(message.state)
            let address = "\(request.root)send?"
            return [
                .init(shownTitle(message), link: request.isOnDeskOnly ? nil : "\(request.root)messages/\(message.id)"),
                .init(words.audience(message)), .init(words.time(message.acceptedAt)),
                canBeReplaced ? .init("Correct", link: "\(address)correct=\(message.id)") : .init(""),
                canBeReplaced ? .init("Withdraw", link: "\(address)withdraw=\(message.id)") : .init(""),
            ]
        }
        let table = OperatorTable(
            "Sent messages",
            ["Title", "For", "Sent", "Correct", "Withdraw"],
            rows,
            empty: "No message has been sent."
        )
        return OperatorSection("Sent", table: table)
    }

    private static func title(of draft: DeskDraft) -> String {
        let fields = draft.fields
        let title = [fields.title, fields.text].first { !$0.allSatisfy(\.isWhitespace) } ?? "(no title)"
        return fields.status == MessageStatus.withdrawn.rawValue ? "Withdrawal of message \(fields.original)" : title
    }

    static func saveDraft(_ request: OperatorRequest) async throws -> Response {
        let fields = OperatorSendPage.Fields(try await request.base.form())
        try await save(fields, key: newKey(), digest: nil, request)
        return request.base.seeOther("\(request.root)drafts")
    }

    /// Stores a message until a second account approves it.
    static func askForApproval(
        _ draft: OperatorDraft,
        _ fields: OperatorSendPage.Fields,
        key: String,
        _ request: OperatorRequest
    ) async throws -> Response {
        try await save(fields, key: key, digest: draft.digest, try await request.byAccount())
        return request.base.seeOther("\(request.root)drafts")
    }

    private static func save(
        _ fields: OperatorSendPage.Fields,
        key: String,
        digest: Data?,
        _ request: OperatorRequest
    ) async throws {
        do {
            try await request.base.pages.store.save(fields, key: key, digest: digest, by: request.acting)
        } catch DraftRefusal.full {
            throw request.refusal(
                .conflict,
                "There are too many drafts",
                "This hub has \(DeskDraft.maximumOfHub) of them, the largest number: delete some first."
            )
        }
    }

    // MARK: Approval

    static func draft(_ request: OperatorRequest) async throws -> Response {
        let draft = try await stored(request)
        guard draft.isWaiting else { return request.base.seeOther("\(request.root)send?draft=\(draft.id)") }
        var fields = draft.fields
        fields.draft = "\(draft.id)"
        let originals = try await originals(of: fields, request)
        var page = try await page(fields, originals, request)
        page.heading = "A message of \(draft.author) waits for approval"
        do throws(ProtocolError) {
            let message = try OperatorDraft(fields, replacing: originals, key: draft.key)
            guard message.digest == draft.digest else { throw changed }
            let user = try? await request.base.deskUser
            let isOther = user.map { OperatorActor.account($0).name != draft.author } ?? false
            page.preview = try await preview(
                message,
                fields,
                key: draft.key,
                request,
                approval: "\(request.root)drafts/\(draft.id)/approve",
                mayApprove: isOther
            )
        } catch {
            page.refusal = error.detail
        }
        return request.base.page(page)
    }

    static func approve(_ request: OperatorRequest) async throws -> Response {
        _ = try await request.base.form()
        let request = try await request.byAccount()
        let draft = try await stored(request)
        guard draft.author != request.actor.name else {
            throw request.refusal(.forbidden, "A second account must approve it", "You have written this message.")
        }
        let fields = draft.fields
        let originals = try await originals(of: fields, request)
        let message: OperatorDraft
        do throws(ProtocolError) {
            message = try OperatorDraft(fields, replacing: originals, key: draft.key)
            guard message.digest == draft.digest else { throw changed }
            try request.check(message)
            // What was approved before may have been sent, too.
            if let date = message.date, draft.approver == nil {
                try ScheduleTime(date).check(now: request.base.now.date)
            }
        } catch {
            throw request.refusal(.conflict, "Nothing was sent", error.detail)
        }
        // The author may have lost the right since.
        guard try await request.base.mayUseDesk(draft.author) else {
            throw request.refusal(.conflict, "Nothing was sent", "Its author may not use the desk any more.")
        }
        guard try await request.base.pages.store.approve(draft, by: request.acting) else {
            throw request.refusal(.conflict, "Nothing was sent", "Somebody has sent, changed or deleted it meanwhile.")
        }
        // If the server stops here, the approval can be repeated: the key makes that harmless.
        let response = try await send(message, fields, request)
        // It is sent: what is left of it expires.
        try? await request.base.pages.store.deleteDraft(draft.id, of: request.hub.name)
        return response
    }

    static func deleteDraft(_ request: OperatorRequest) async throws -> Response {
        _ = try await request.base.form()
        let draft = try await stored(request)
        try await request.perform("delete draft", "of \(draft.author): \(title(of: draft))", outcome: { "deleted" }) {
            try await request.base.pages.store.deleteDraft(draft.id, of: request.hub.name)
        }
        return request.base.seeOther("\(request.root)drafts")
    }

    private static let changed = ProtocolError.badRequest(
        "The messages that it replaces have changed since. Write it again."
    )

    private static func stored(_ request: OperatorRequest) async throws -> DeskDraft {
        try await stored(request.parameter("id"), request)
    }

    static func stored(_ text: String, _ request: OperatorRequest) async throws -> DeskDraft {
        guard let id = Int64(text),
            let draft = try await request.base.pages.store.draft(id, of: request.hub.name, at: request.base.now)
        else {
            let reason = "It was sent, changed or deleted, or has expired."
            throw request.refusal(.notFound, "There is no such draft", reason)
        }
        return draft
    }
}

extension OperatorDraft {
    /// A digest of exactly what is sent: the texts, the recipients and the time.
    var digest: Data {
        var hash = SHA256()
        for part in parts {
            for piece in [part.properties.encoded(), Array((part.tags ?? "").utf8), Array(part.key.utf8)] {
                hash.update(data: Array("\(piece.count) ".utf8) + piece)
            }
        }
        hash.update(data: Array("\(date.map { ISODateTime.format($0) } ?? "")".utf8))
        return Data(hash.finalize())
    }
}

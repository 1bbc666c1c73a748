import AppBackend
import HTTPTypes
import WebPages

/// A refusal that is shown to readers.
struct PageRefusal: Error {
    let status: HTTPResponse.Status
    let page: NoticePage
    /// The value of `Retry-After` in seconds; `nil` if waiting does not help.
    let retryAfter: Int64?
    /// Further fields of the response.
    var fields: HTTPFields = [:]

    init(
        _ status: HTTPResponse.Status,
        _ frame: PageFrame,
        _ heading: String,
        _ text: String,
        retryAfter: Int64? = nil
    ) {
        self.status = status
        self.retryAfter = retryAfter
        page = NoticePage(frame: frame, heading: heading, text: text)
    }

    static let notFound = PageRefusal(.notFound, server, "Not found", "There is no page at this address.")

    static let stopping = PageRefusal(
        .serviceUnavailable,
        server,
        "The server is stopping",
        "Reload this page in a moment."
    )

    static let unavailable = PageRefusal(
        .serviceUnavailable,
        server,
        "That did not work",
        "The server cannot do this now. Reload this page in a few seconds to try again.",
        retryAfter: 5
    )

    static let failed = PageRefusal(
        .internalServerError,
        server,
        "That did not work",
        "The server could not do this now; its log has the details. Reload this page to try again."
    )

    /// The refusal of a request whose session has ended meanwhile.
    static func ended(_ frame: PageFrame) -> PageRefusal {
        PageRefusal(.unauthorized, frame, "This session has ended", "Open the page again.")
    }

    static func uninvited(_ frame: PageFrame) -> PageRefusal {
        PageRefusal(
            .unauthorized,
            frame,
            "You need an invitation",
            "These pages are for invited readers. "
                + (frame.signIn == nil ? "" : "Sign in, if you have an account, or ask for a link. ")
                + "The operator can invite you with 'newswire hub invite'."
        )
    }

    /// Creates a refusal from one of the app backend, with its sentence.
    init(_ refusal: BackendRefusal) {
        let wait = refusal.headers[.retryAfter].flatMap { Int64($0) }
        self.init(refusal.status, Self.server, "That did not work", refusal.reason, retryAfter: wait)
    }

    private static let server = PageFrame(name: "newswire", home: "/")
}

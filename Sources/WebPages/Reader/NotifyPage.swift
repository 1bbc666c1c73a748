/// Shows the result of a message to a user, with the form to send another one.
package struct NotifyPage: WebPage {
    /// The result on one platform, as `newswire notify` prints it.
    package struct Result: Sendable {
        let platform: String
        let outcome: String
        let reason: String?

        package init(platform: String, outcome: String, reason: String?) {
            self.platform = platform
            self.outcome = outcome
            self.reason = reason
        }
    }

    package let template = "notify"
    package let frame: PageFrame
    package var title: String { "\(heading) – \(frame.name)" }
    let heading: String
    let results: [Result]
    let hasResults: Bool
    /// The reason why nothing was sent.
    let refusal: String?
    let send: SendForm

    package init(frame: PageFrame, heading: String, results: [Result], refusal: String?, send: SendForm) {
        self.frame = frame
        self.heading = heading
        self.results = results
        hasResults = !results.isEmpty
        self.refusal = refusal
        self.send = send
    }
}

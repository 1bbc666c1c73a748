/// Asks a reader to confirm the use of an invitation.
package struct InvitationPage: WebPage {
    package let template = "invitation"
    package let frame: PageFrame
    package var title: String { "Invitation – \(frame.name)" }
    let code: String

    package init(frame: PageFrame, code: String) {
        self.frame = frame
        self.code = code
    }
}

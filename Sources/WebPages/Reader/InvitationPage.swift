/// Asks whoever follows an invitation whether they want to use it.
package struct InvitationPage: WebPage {
    package let template = "invitation"
    package let frame: PageFrame
    let code: String

    package init(frame: PageFrame, code: String) {
        self.frame = frame
        self.code = code
    }
}

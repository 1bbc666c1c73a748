/// Asks for a name and a password.
package struct SignInPage: WebPage {
    package let template = "sign-in"
    package let frame: PageFrame
    package var title: String { "\(frame.words[.signIn]) – \(frame.name)" }
    /// The name that the user typed.
    let user: String
    /// The reason why the sign-in was refused.
    package var refusal: String?
    /// The id of the secure message that is shown after the sign-in.
    package var secure: String?

    package init(frame: PageFrame, user: String = "") {
        self.frame = frame
        self.user = user
    }
}

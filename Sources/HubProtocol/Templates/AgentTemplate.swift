/// The template that a subscriber agent registers unless told otherwise.
package enum AgentTemplate {
    package static let name = "newswire"
    /// Members as in the native `stream` format, so that both kinds of message read alike (design §6).
    ///
    /// `urgency` is for the desktop. `story`, `status` and `replaces` tell which earlier messages a message takes the place
    /// of, and whether it withdraws them.
    package static let body = """
        {"title":"$(title)","message":"$(messageParam)","link":"$(link)","category":"$(category)",\
        "image":"$(image)","secureId":"$(secureId)",\
        "urgency":"$(urgency)","story":"$(story)","status":"$(status)","replaces":"$(replaces)"}
        """

    /// The same members, with title, text and page in one language: a message that lacks it renders as nothing.
    ///
    /// A translation's own page comes beside `link`, which is all that other senders give.
    package static func body(in language: LanguageName) -> String {
        body.replacing("$(title)", with: "$(\(language.titleProperty))")
            .replacing("$(messageParam)", with: "$(\(language.newsProperty))")
            .replacing("$(link)", with: "$(link)\",\"localizedLink\":\"$(\(language.linkProperty))")
    }
}

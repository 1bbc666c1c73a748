/// The template that a subscriber agent registers unless told otherwise.
package enum AgentTemplate {
    package static let name = "newswire"
    /// Members as in the native `stream` format, so that both kinds of message read alike (design §6).
    ///
    /// `urgency` and `story` are for the desktop: how it shows a message, and which earlier one of the story it replaces.
    package static let body = """
        {"title":"$(title)","message":"$(messageParam)","link":"$(link)","category":"$(category)",\
        "image":"$(image)","secureId":"$(secureId)",\
        "urgency":"$(urgency)","story":"$(story)"}
        """
}

import HostSystem
package import HubProtocol

/// The template by which an agent gets messages: a standard one, or the user's own.
package enum TemplateChoice: Sendable, Equatable {
    /// ``AgentTemplate/body``.
    case standard
    /// The standard template in one language.
    case language(LanguageName)
    /// A JSON object with expressions.
    case custom(String)

    /// Maximum size of a user's template in bytes: several times our largest message, and far below the limit of a
    /// request.
    package static let maximumBytes = 16_384

    /// Reads a language as typed; an empty text means ``standard``.
    ///
    /// - Throws: ``AgentError`` with exit 64.
    package init(language text: String) throws(AgentError) {
        guard !text.isEmpty else {
            self = .standard
            return
        }
        do {
            self = .language(try LanguageName(text))
        } catch {
            throw AgentError(
                .usage,
                error.detail,
                hint: .language
            )
        }
    }

    /// Reads a template from a file; an empty name means ``standard``.
    ///
    /// - Throws: ``AgentError`` with exit 64 for a file that cannot be read, or a template that a hub would refuse.
    package init(file path: String) throws(AgentError) {
        guard !path.isEmpty else {
            self = .standard
            return
        }
        let text: String
        do {
            text = try PrivateFile.read(path, limit: Self.maximumBytes)
        } catch {
            throw AgentError(.usage, "\(error)", hint: .templateFile)
        }
        do {
            let template = try Template(parsing: text)
            guard template.syntax == .json else {
                throw TemplateError(offset: 0, reason: "it is XML; agents need a JSON object")
            }
            guard !template.propertyNames.isEmpty else {
                throw TemplateError(offset: 0, reason: "it names no property, so all messages would be equal")
            }
        } catch {
            throw AgentError(.usage, "cannot use template '\(path)': \(error)", hint: .template)
        }
        self = .custom(text)
    }

    /// A warning about a template without the members that are printed.
    package var warning: String? {
        guard case .custom(let body) = self else { return nil }
        let members = MessageProperty.texts(of: body)
        guard members[.message] == nil, members[.title] == nil else { return nil }
        return "the template has neither 'message' nor 'title', so printed messages say '(no text)'; "
            + "a program gets all of it in NEWSWIRE_BODY"
    }

    /// The body of the template that is registered.
    var body: String {
        switch self {
        case .standard: AgentTemplate.body
        case .language(let language): AgentTemplate.body(in: language)
        case .custom(let body): body
        }
    }

    /// The ``body`` unless it is the standard one.
    var ownBody: String? { self == .standard ? nil : body }

    /// A note for a line that names categories: `in French`.
    package var note: String? {
        switch self {
        case .standard: nil
        case .language(let language): "in \(language)"
        case .custom: "with a template of its own"
        }
    }

    /// The reason why a message without text is not shown.
    var emptiness: String {
        switch self {
        case .standard: "it has no text"
        case .language(let language): "it has no text in \(language)"
        case .custom: "the template leaves it without text"
        }
    }
}

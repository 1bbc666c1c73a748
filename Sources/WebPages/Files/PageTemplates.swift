import Mustache

/// The pages' templates, parsed once.
///
/// Templates escape all values: none contains `{{{`.
package struct PageTemplates: Sendable {
    /// By language: texts are inserted before a template is parsed.
    private let libraries: [String: MustacheLibrary]

    /// - Throws: The error of a template.
    package init() throws {
        let ending = ".mustache"
        var libraries: [String: MustacheLibrary] = [:]
        for words in PageWords.all {
            var templates: [String: MustacheTemplate] = [:]
            for name in WebFiles.names where name.hasSuffix(ending) {
                let text = words.inserted(into: WebFiles.text(name), isMarkup: true)
                templates[String(name.dropLast(ending.count))] = try MustacheTemplate(string: text)
            }
            libraries[words.language] = MustacheLibrary(templates: templates)
        }
        self.libraries = libraries
    }

    /// The page as HTML.
    package func render(_ page: some WebPage) -> String {
        libraries[page.frame.words.language]?.render(Self.members(of: page), withTemplate: "layout") ?? ""
    }

    /// The title, and the stored properties that have a value.
    ///
    /// The library would search them by reflection at each use, also for each member that a message or a category lacks.
    private static func members(of page: some WebPage) -> [String: Any] {
        var members: [String: Any] = ["title": page.title]
        for (name, value) in Mirror(reflecting: page).children {
            guard let name else { continue }
            let optional = Mirror(reflecting: value)
            members[name] = optional.displayStyle == .optional ? optional.children.first?.value : value
        }
        return members
    }
}

/// The values that a template is rendered with.
package protocol WebPage: Sendable {
    /// The name of the template of the page's content.
    var template: String { get }
    var title: String { get }
    var frame: PageFrame { get }
}

/// The parts that all pages have around their content.
package struct PageFrame: Sendable, Equatable {
    /// The name of the hub, or its title for readers.
    package let name: String
    /// A sentence about the hub.
    let description: String?
    /// The address of the hub's picture.
    let logo: String?
    /// The address of the style with the hub's colour.
    let accent: String?
    /// The hub's address, `/-/{hub}/`.
    package let home: String
    /// The language of the page.
    package let words: PageWords
    /// The signed-in user.
    package var user: String?
    /// The address of the desk; `nil` for a user who may not use it.
    package var desk: String?
    /// The address of the sign-in; `nil` for a signed-in user, and if nobody can sign in.
    package var signIn: String?
    package var notice: String?
    package var manifest: String?
    /// The address of the page on trusting the hub's own authority; `nil` if the hub has another certificate.
    package var trust: String? { didSet { hasFooter = trust != nil || feeds != nil } }
    /// The address of the page with the addresses of feeds.
    package var feeds: String? { didSet { hasFooter = trust != nil || feeds != nil } }
    private(set) var hasFooter = false
    let style = WebAsset.style.path
    let icon: String
    let iconType: String
    let touchIcon: String

    package init(
        name: String,
        home: String,
        appearance: PageAppearance = PageAppearance(),
        words: PageWords = .english
    ) {
        self.name = appearance.title ?? name
        self.home = home
        self.words = words
        description = appearance.description
        logo = appearance.logo?.file.path
        accent = appearance.style?.path
        icon = logo ?? WebAsset.icon.path
        iconType = (appearance.logo?.file ?? .icon).mediaType
        touchIcon = logo ?? WebAsset.touchIcon.path
    }
}

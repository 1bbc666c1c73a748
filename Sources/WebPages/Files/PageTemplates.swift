import Mustache

/// The pages' templates, parsed once.
///
/// They escape all that they are given: none has `{{{`.
package struct PageTemplates: Sendable {
    private let library: MustacheLibrary

    /// - Throws: What is wrong with a template.
    package init() throws {
        let ending = ".mustache"
        var templates: [String: MustacheTemplate] = [:]
        for name in WebFiles.names where name.hasSuffix(ending) {
            templates[String(name.dropLast(ending.count))] = try MustacheTemplate(string: WebFiles.text(name))
        }
        library = MustacheLibrary(templates: templates)
    }

    /// The page as HTML.
    package func render(_ page: some WebPage) -> String { library.render(page, withTemplate: page.template) ?? "" }
}

/// What a template is rendered with.
package protocol WebPage: Sendable {
    var template: String { get }
    var frame: PageFrame { get }
}

/// What all pages have around them.
package struct PageFrame: Sendable {
    /// The hub's name.
    package let name: String
    /// `/-/{hub}/`.
    package let home: String
    /// Who is signed in.
    package var user: String?
    /// Where to sign in; `nil` for who is, and where nobody can.
    package var signIn: String?
    package var notice: String?
    package var manifest: String?
    let style = WebAsset.style.path
    let icon = WebAsset.icon.path

    package init(name: String, home: String) {
        self.name = name
        self.home = home
    }
}

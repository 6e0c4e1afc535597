package import ArgumentParser

/// An option that can change results, written once: name, help, default, completion, where its value is kept, how a batch
/// records it, and which sources it concerns. Command line, help, completion, record, results and fingerprints come from it.
///
/// The default is the value of the member in `Options()`. A batch records the options that differ from their defaults, so a
/// default can only change together with ``alwaysRecorded``: otherwise results of both defaults would look the same.
package struct ResultOption<Options: Sendable>: Sendable {
    /// On the command line, without hyphens.
    package let name: String
    /// Where a batch records the text of the value: the name, or the name and `-path` for a file of which results state another
    /// text than its path.
    package let key: String
    var argument: OptionArgument
    /// The text of the value; nil for the default.
    private var text: @Sendable (Options) -> String?
    /// The text of the value, also of the default.
    private let fullText: @Sendable (Options) -> String?
    /// The text in results and fingerprints, which contain no path; nil for none.
    private var resultText: @Sendable (Options) -> String?
    private let take: @Sendable (inout Options, OptionArgument.Text) throws -> Void
    private var concerns: @Sendable (Any?) -> Bool = { _ in true }

    // MARK: Reading and writing

    /// What a batch records.
    package func record(_ options: Options, into texts: inout [String: String]) {
        guard let text = text(options) else { return }
        texts[key] = text
        if key != name { texts[name] = resultText(options) }
    }

    /// What the result of a source contains, and its fingerprint.
    /// - Parameter source: of the type that ``concerning(_:)`` has; nil for one that is refused.
    package func state(_ options: Options, of source: (some Sendable)?, in texts: inout [String: String]) {
        guard let text = resultText(options), concerns(source) else { return }
        texts[name] = text
    }

    /// Sets the value that is given by name, or else the one that is recorded.
    /// - Throws: ``OptionArgument/ValueError``; `BatchError` for a given file that cannot be used.
    package func set(_ options: inout Options, recorded: [String: String], given: [String: String]) throws {
        if let text = given[name] {
            try take(&options, OptionArgument.Text(text: text, result: nil, isGiven: true))
        } else if let text = recorded[key] {
            try take(&options, OptionArgument.Text(text: text, result: recorded[name], isGiven: false))
        }
    }

    // MARK: Variations

    /// Shown by the short help as well.
    package var main: Self { with { $0.argument.isMain = true } }

    /// Recorded and stated in results also with its default.
    package var alwaysRecorded: Self { with { ($0.text, $0.resultText) = (fullText, fullText) } }

    /// Without effect on the results of items that complete.
    package var absentFromResults: Self { with { $0.resultText = { _ in nil } } }

    /// The same option with another completion.
    package func completed(_ completion: CompletionKind) -> Self { with { $0.argument.completion = completion } }

    /// Without effect on other sources: giving it to an existing batch leaves their results as they are.
    /// - Parameter isConcerned: gets nil for a source that is refused.
    package func concerning<Source>(_ isConcerned: @escaping @Sendable (Source?) -> Bool) -> Self {
        with { $0.concerns = { isConcerned($0 as? Source) } }
    }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }

    // MARK: Creation

    /// - Parameters:
    ///   - argument: what the command line takes.
    ///   - text: the text of the value; nil for the default.
    ///   - fullText: also of the default, where it has a text.
    ///   - take: sets the value of a text.
    package init(
        _ argument: OptionArgument,
        isPath: Bool = false,
        text: @escaping @Sendable (Options) -> String?,
        fullText: (@Sendable (Options) -> String?)? = nil,
        take: @escaping @Sendable (inout Options, OptionArgument.Text) throws -> Void
    ) {
        name = argument.name
        key = isPath ? name + "-path" : name
        self.argument = argument
        self.text = text
        self.fullText = fullText ?? text
        resultText = text
        self.take = take
    }

    /// The same option of options that contain these.
    package init<Part: Sendable>(_ part: ResultOption<Part>, at path: any WritableKeyPath<Options, Part> & Sendable) {
        name = part.name
        key = part.key
        argument = part.argument
        text = { part.text($0[keyPath: path]) }
        fullText = { part.fullText($0[keyPath: path]) }
        resultText = { part.resultText($0[keyPath: path]) }
        take = { try part.take(&$0[keyPath: path], $1) }
        concerns = part.concerns
    }

    /// With another text in results than in the record.
    package func stated(_ resultText: @escaping @Sendable (Options) -> String?) -> Self {
        with { $0.resultText = resultText }
    }
}

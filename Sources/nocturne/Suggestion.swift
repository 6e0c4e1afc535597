import NocturneInference
import NocturneRecipeSupport
import NocturneSystem

/// What may have been meant by a command line that is not understood: by its words, as other tools use them.
struct Suggestion {
    /// Without the program's name.
    private let arguments: [String]
    private let commands: [String]
    private let subcommands: [String: [String]]

    /// - Parameters:
    ///   - commands: the names of all commands.
    ///   - subcommands: those of commands that have some.
    init(_ arguments: [String], commands: [String], subcommands: [String: [String]] = [:]) {
        (self.arguments, self.commands, self.subcommands) = (arguments, commands, subcommands)
    }

    private static let inputs = "Give the path alone: nocturne run FOLDER --model NAME --output RESULTS"

    /// Options of other tools, and what they are called here. None of them is an option of this program.
    private static let options = [
        "--gpu": "--device cuda", "--cpu": "--device cpu", "--out": "--output", "--outdir": "--output",
        "--out-dir": "--output", "--output-dir": "--output", "--output-folder": "--output", "--weights": "--model",
        "--workers": "--threads", "--jobs": "--threads", "--cores": "--threads", "--ram": "--memory",
        "--force": "--yes", "--overwrite": "--yes", "--half": "--precision bfloat16", "--fp16": "--precision bfloat16",
        "--fast": "--step-size 0.75, --precision bfloat16, or a model for coarser voxels",
        "--resume": "nocturne resume OUT", "--status": "nocturne status OUT", "--retry-failed": "--failed",
        "-i": Self.inputs, "--input": Self.inputs, "--roi_subset": "--labels", "-ta": "--model", "--task": "--model",
        "--csv": "--import", "--reference": "--compare", "--ground-truth": "--compare", "--gt": "--compare",
    ]

    /// First words of other tools, and names of commands that are parts of others, with what does the same.
    private static let words = [
        "predict": "run", "infer": "run", "segment": "run", "start": "run", "process": "run", "suspend": "pause",
        "unpause": "continue", "stop": "cancel", "view": "review", "show": "status", "list": "status",
        "check": "verify", "info": "inspect",
        "delete": "forget", "remove": "forget", "rm": "forget", "test": "doctor", "estimate": "plan",
        "retry": "resume --failed", "attach": "status --follow", "prom": "status --format prometheus",
        "trace": "status --format trace", "adopt": "review adopt", "enrich": "review titles",
    ]

    /// The error where the first word, or the one after `help`, is not a command; nil where it is one.
    var unknownCommand: String? {
        let words = arguments.first == "help" ? arguments.dropFirst() : arguments[...]
        guard let word = words.first, !word.hasPrefix("-"), word != "help" else { return nil }
        guard commands.contains(word) else {
            return Self.unknown(word, Self.words[word] ?? Spelling.nearest(to: word, among: commands))
        }
        guard let names = subcommands[word], let name = words.dropFirst().first, !name.hasPrefix("-"), name != "help",
            !names.contains(name)
        else { return nil }
        // "ls" is too short for a nearest name.
        let meant = Spelling.nearest(to: name, among: names) ?? (name == "ls" ? names.first { $0 == "list" } : nil)
        return Self.unknown("\(word) \(name)", meant.map { "\(word) \($0)" }, help: "\(word) --help")
    }

    private static func unknown(_ command: String, _ meant: String?, help: String = "--help") -> String {
        let question = meant.map { " Did you mean 'nocturne \($0)'?" } ?? ""
        return "Error: there is no command '\(command)'.\(question)\n  See 'nocturne \(help)' for all commands."
    }

    /// A message of the parser, with what is called otherwise here, and without the usage of no command in particular.
    func explained(_ message: String) -> String {
        let general = "\nUsage: nocturne <subcommand>\n  See 'nocturne --help' for more information."
        return suggested(message.replacing(general, with: ""))
    }

    /// Options that are given again for another value, by what precedes that value.
    static let repeated: Set = [
        "-m", "--model", "--include", "--exclude", "--only", "--isosurface", "--reuse",
    ]

    /// How messages begin about inputs that do not exist.
    private static let missing = ["there is no file or folder", "no file or folder matches"]

    /// A message of a command; about an input that does not exist and that follows the value of an option, with the way to give
    /// that option another value.
    func explained(error message: String) -> String {
        // The parser takes a value that was meant for an option as an input: `--labels a b`.
        for (place, word) in arguments.enumerated().dropFirst(2)
        where Self.missing.contains(where: { message.hasPrefix("\($0) \(absolutePath(word)).") }) {
            let (option, value) = (arguments[place - 2], arguments[place - 1])
            if option == "--labels" {
                return "\(message). If it is a label, separate labels with commas: --labels \(value),\(word)"
            }
            if Self.repeated.contains(option) {
                let both = [option, value, option, word].map(ShellWord.quoted).joined(separator: " ")
                return "\(message). If it is another value of \(option), repeat the option: \(both)"
            }
        }
        return message
    }

    /// A message with the next step after its first line, which is the fact.
    private static func adding(_ step: String, to message: some StringProtocol) -> String {
        let line = message.prefix { $0 != "\n" }
        let fact = line.hasSuffix(".") ? line.dropLast() : line
        return "\(fact). \(step)\(message.dropFirst(line.count))"
    }

    /// A message without a name that the parser suggests and that has little in common with the one that was given.
    private func withoutFarName(_ message: String) -> String {
        let line = message.prefix { $0 != "\n" }
        guard let question = line.firstRange(of: ". Did you mean '"), let quote = line.firstRange(of: "option '") else {
            return message
        }
        // Between the two texts are the name and its closing quote.
        let given = String(line[quote.upperBound..<question.lowerBound].dropLast())
        let meant = String(line[question.upperBound...].prefix { $0 != "'" })
        guard Spelling.nearest(to: given, among: [meant]) == nil else { return message }
        return String(line[..<question.lowerBound] + message.dropFirst(line.count))
    }

    private func suggested(_ message: String) -> String {
        // `--name=value` counts as the name.
        let names = arguments.map { String($0.prefix { $0 != "=" }) }
        // What is missing may be what another name was given for; other errors are not about names.
        let isRefused = { (option: String) in
            Self.options[option] != nil
                && (message.contains("option '\(option)'") || message.contains("Missing expected argument"))
        }
        if let option = names.first(where: isRefused), let meaning = Self.options[option] {
            // The nearest name by its letters has another meaning.
            let line = message.prefix { $0 != "\n" }
            let fact = line.firstRange(of: " Did you mean").map { line[..<$0.lowerBound] } ?? line
            let step = meaning == Self.inputs ? meaning : "Use \(meaning) instead"
            return Self.adding(step, to: fact + message.dropFirst(line.count))
        }
        let message = withoutFarName(message)
        let isLong = { (name: String) in
            name.hasPrefix("-") && !name.hasPrefix("--") && name.count > 3 && name.dropFirst().allSatisfy(\.isLetter)
        }
        if message.contains("Unknown option"), let name = names.first(where: isLong) {
            return "Error: Unknown option '\(name)'. Long options have two hyphens: -\(name)"
        }
        if message.contains("Unknown option '--model'") || message.contains("Unknown option '-m'") {
            return
                "Error: this command uses the models of the batch. `nocturne run` with all inputs and models adds one"
        }
        if message.contains("is invalid for '--device") {
            return Self.adding("Give \(InferenceDevice.list); cuda is an NVIDIA GPU", to: message)
        }
        if names.contains(where: { $0.count == 2 && message.contains("Unknown option '\($0)'") }) {
            return Self.adding("Write out the option's name, as in --output", to: message)
        }
        if message.contains("Unexpected argument") { return Self.adding("Leave it out", to: message) }
        if message.contains(" unexpected arguments") { return Self.adding("Leave them out", to: message) }
        if message.contains("Missing expected argument '--output") {
            return Self.adding("Name a folder for the results, such as --output results/", to: message)
        }
        return message
    }
}

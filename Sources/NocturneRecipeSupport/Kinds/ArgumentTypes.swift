public import ArgumentParser
public import NocturneBatch
public import NocturneCore
public import NocturneInference

// Enumerations as option values: the parser refuses other values and names the allowed ones, and help lists them.

extension EngineChoice: ExpressibleByArgument {}
extension InferencePrecision: ExpressibleByArgument {}
extension IdentifierPolicy: ExpressibleByArgument {}
extension PatientFrame: ExpressibleByArgument {}

public import ArgumentParser
public import NocturneBatch
public import NocturneCore
public import NocturneInference

// Enumerations as option values: the parser rejects other values and lists the allowed ones; help lists them too.

extension EngineChoice: ExpressibleByArgument {}
extension InferencePrecision: ExpressibleByArgument {}
extension IdentifierPolicy: ExpressibleByArgument {}
extension PatientFrame: ExpressibleByArgument {}

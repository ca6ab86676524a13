// One quiet line under an answer: time to first token, speed, prompt, cached, dropped.
export default function AnswerStats() {
  return (
    <div
      className="ernie-stats text-xs text-muted-foreground flex flex-wrap gap-x-2"
      title={props.help}
    >
      {props.parts.map((part, index) => (
        <span key={index}>
          {index > 0 ? "· " : ""}
          {part}
        </span>
      ))}
    </div>
  );
}

// One quiet line under an answer: time to first token, speed, prompt, cached, dropped.
export default function AnswerStats() {
  return (
    <div className="ernie-stats text-xs text-muted-foreground" title={props.help}>
      {props.parts.join(" · ")}
    </div>
  );
}
